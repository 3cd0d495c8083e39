"""What a message asks for: a question to answer, a greeting to return, or words to store."""

from __future__ import annotations

import re

from memgraph.analysis.lasting import confidence_of
from memgraph.analysis.normalize import fold, single_line
from memgraph.analysis.statement import classes_of, read_words
from memgraph.analysis.words import language_of, states_standing_need

_QUESTION = re.compile(
    r"(?:so |and |but |please )?(?:(?:what|where|when|who|whom|whose|which|why|how)(?:'s|'re|'m|'d)?\b"
    r"|(?:do|does|did|is|are|am|was|were|can|could|will|would|should|have|has|had) "
    r"(?:i|you|we|he|she|it|they|my|your|our|his|her|their|the|there|this|that|any|anyone)\b"
    r"|(?:tell|remind|show) me\b)"
    r"|(?:(?:什么|哪|谁)(?!\w{0,5}[都也])|怎么|多少|几|请问|难道|(?:请|你)?告诉我)"
    r"|.*(?:[吗么]$|(?:什么|谁|哪[里儿个些家天年种位])(?!\w{0,5}[都也])"  # 谁都: everyone
    r"|(?<!不)(?<!知道)(?<!习)(?:怎么|怎样|如何)|多少|为何|(?<!十)几[岁点号]"
    r"|是否|是不是|有没有|能不能|要不要|该不该|好不好|会不会)"
)
_CLAUSE_END = re.compile(r"(?<=[.!?;。\n])\s*")
WORDS_A_CERTAINTY, MAX_WORDS = 10, 11
"""Words that a bare question has at most, less the first number times the probability that it states what lasts.

Moved by a quarter benchmarks/silence.py notices both."""
_LIKE_SELF = re.compile(r"\blike (?:me|mine|us|ours|myself)\b|像我")
_OPENING_END = re.compile(r"(?<=[,，。.!！?？\n])\s*")
_GREETING = re.compile(
    r"(?:hi|hello|hey|greetings)(?: there| all| again)?|good (?:morning|afternoon|evening)"
    r"|你好|您好|大家好|嗨|嘿|哈喽|早|早上好|下午好|晚上好"
)
_ACKNOWLEDGEMENT = re.compile(
    r"ok|okay|yes|no|yeah|yep|nope|sure|thanks|thank you|thanks a lot|thx|great|cool|nice|good|fine|bye|goodbye|right"
    r"|i see|好|好的|好吧|行|嗯|嗯嗯|是|是的|对|不|没有|谢谢|谢谢你|多谢|知道了|明白|明白了|再见|拜拜"
)
_END_MARKS = " .!?,~。!?、"

_EN_PREFIX = r"(?P<polite>(?:can|could|will|would) you )?(?:please,? )?"
_EN_ANNOUNCED = r"(?:remember|note|note down|keep in mind|don['’]t forget)(?: this| that)?(?:[:,]|(?<=that)\b)"
_EN_DIRECT = (
    r"(?:remember|don['’]t forget)(?! (?:me|us|it|this|that|to|you|when|how|what|who|whose|where|why|which|if)\b)\b"
)
_EN_REMEMBER = re.compile(
    rf"{_EN_PREFIX}(?:(?:{_EN_ANNOUNCED}|{_EN_DIRECT})\s*(?P<words>\S.*)"
    r"|(?P<task>(?:remember|don['’]t forget) to \S.*))",
    re.IGNORECASE,
)
_ZH_REMEMBER = re.compile(
    r"(?:(?:请|請|麻烦)你?)?(?:帮我|替我|幫我)?(?:记住|記住|记下来?|记一下|别忘了|不要忘记|(?<=请)记得)了?+"
    r"[,，:：、 ]*(?P<words>\S.+)"
)

_EN_FORGET = re.compile(rf"{_EN_PREFIX}forget\s+(?:(?:about|that)\s+)?(?P<words>(?:I|we|my|our)\b.*)", re.IGNORECASE)
_ZH_FORGET = re.compile(r"(?:(?:请|請|麻烦)你?(?:帮我)?忘[掉记了]|忘掉)[,，:：、 ]*(?P<words>[我咱].+)")


def is_question(text: str) -> bool:
    """Return whether a sentence of *text* asks something, with or without a question mark."""
    clauses = [clause.strip() for clause in _CLAUSE_END.split(fold(text))]
    return any(clause.endswith("?") or _QUESTION.match(clause.rstrip(_END_MARKS)) for clause in clauses if clause)


def is_bare_question(text: str) -> bool:
    """Return whether *text* only asks, and states nothing about its author.

    "What shall I cook?" and "我今晚吃什么？" do; "I'm vegetarian, what shall I cook?" and "Where can my sister park?"
    state something. The more words a question has, and the more these may last, the less probable it is a bare one.
    Any doubt, such as a question in a language other than English and Chinese, makes it False.
    """
    clauses = [clause for clause in _OPENING_END.split(text) if clause.strip()]
    asking = [_QUESTION.match(fold(clause).strip(_END_MARKS)) is not None for clause in clauses]
    stated = (clause for clause, asks in zip(clauses, asking, strict=True) if not asks)
    if not any(asking) or any(classes_of(read_words(clause)) & {"user", "own"} for clause in stated):
        return False
    asked = " ".join(clause for clause in clauses if not is_greeting(clause))
    count = len(read_words(asked))
    if count > MAX_WORDS or states_standing_need(text) or _LIKE_SELF.search(fold(text)):
        return False
    return count + WORDS_A_CERTAINTY * confidence_of(asked, language_of(asked)) <= MAX_WORDS


def is_greeting(text: str) -> bool:
    """Return whether *text* is a greeting and nothing else."""
    return _GREETING.fullmatch(fold(text).strip(_END_MARKS)) is not None


def is_brief_reply(text: str) -> bool:
    """Return whether *text* only agrees, declines, thanks or ends the talk."""
    return _ACKNOWLEDGEMENT.fullmatch(fold(text).strip(_END_MARKS)) is not None


def words_to_remember(text: str) -> str:
    """Return the words that *text* explicitly asks to remember, unchanged but for spaces; empty if it does not ask.

    "Remember that I park on level 3." asks, "Do you remember where I park?" does not.
    """
    line = single_line(text)
    if match := _EN_REMEMBER.fullmatch(line):
        words = (match["words"] or match["task"]).strip()
        if match["polite"]:
            return words.rstrip("?？ ")
    elif match := _ZH_REMEMBER.fullmatch(line):
        words = match["words"].strip()
    else:
        return ""
    return "" if words.endswith(("?", "？", "吗", "呢")) else words


def words_to_forget(text: str) -> str:
    """Return what *text* explicitly asks to forget; empty if it does not ask: "I forget that I have keys"."""
    found = _EN_FORGET.fullmatch(line := single_line(text)) or _ZH_FORGET.fullmatch(line)
    return found["words"].strip(" .?!。？！") if found else ""
