"""What a message asks for: a question to answer, a greeting to return, or words to store."""

from __future__ import annotations

import re
from functools import cache

from memgraph.text.normalize import fold, single_line
from memgraph.text.words import states_standing_need, words

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
_PART_END = re.compile(r"[,:()]|\s-+(?=\s)")


def _not_after(words: str) -> str:
    return "".join(rf"(?<!{word} )" for word in words.split())


_INVERTED = "do did am are was were can could shall should will would may might must have had what which how"
_EVERYONES = "name|birthday|age|address|phone|number|email|home|job|password"
_STATES_SELF = re.compile(
    rf"(?<!\w)(?:i|we)['’](?:m|re|ve|ll|d)\b|{_not_after(_INVERTED)}\b(?:i|we)\b"
    rf"|\b(?:my|our)\b(?! (?:{_EVERYONES})\b)|我(?:是(?![不谁哪])|有(?!没有))"
    r"|我\w{1,6}了\w{0,20}?(?:[能该要会]|可以|怎么)"
)
"""In a question: a subject that does not follow the verb, what the author has and not everyone, or 我怀孕了能...?"""
_LIKE_SELF = re.compile(r"\blike (?:me|mine|us|ours|myself)\b|像我")
_SELF, _ROLE = re.compile(r"\b(?:i|me|we|us)\b|我"), re.compile(r"\b(?:as|being) \w|\bat \d|作为")
"""In a question with a word for its author: what the author is, as in "Can I, as a nurse, ...?"."""
_ASKS_FOR_ALL = re.compile(r"\b(?:know|remember|recall)\b.*\bme\b|(?:知道|记得|了解)我|关于我", re.IGNORECASE)
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


def is_question(text: str) -> bool:
    """Return whether a sentence of *text* asks something, with or without a question mark."""
    clauses = [clause.strip() for clause in _CLAUSE_END.split(fold(text))]
    return any(clause.endswith("?") or _QUESTION.match(clause.rstrip(_END_MARKS)) for clause in clauses if clause)


def is_bare_question(text: str) -> bool:
    """Return whether *text* only asks, and states nothing about its author.

    "What shall I cook?" and "我今晚吃什么？" do; "I'm vegetarian, what shall I cook?" and "Where can my sister park?"
    state something. Any doubt, such as a question in a language other than English and Chinese, makes it False.
    """
    clauses = [clause.strip() for clause in _CLAUSE_END.split(fold(text))]
    return all(_is_bare(clause) for clause in clauses if clause) and is_question(text)


def _is_bare(clause: str) -> bool:
    if is_greeting(clause) or is_brief_reply(clause):
        return True
    parts = [part.strip() for part in _PART_END.split(clause.rstrip(_END_MARKS)) if part.strip()]
    asking = [_QUESTION.match(part) is not None for part in parts]
    states = any(
        _STATES_SELF.search(part) or (not asks and "我" in part) for part, asks in zip(parts, asking, strict=True)
    )
    describes = _LIKE_SELF.search(clause) or (
        _SELF.search(clause) and (_ROLE.search(clause) or states_standing_need(clause) or _close_ones().search(clause))
    )
    return any(asking) and not states and not describes


@cache
def _close_ones() -> re.Pattern[str]:
    """Return a pattern of the Chinese words for family and animals, which need no possessive."""
    return re.compile("|".join(word for word in words("FAMILY") | words("PET") if not word.isascii()))


def asks_for_all(text: str) -> bool:
    """Return whether *text* asks for everything that is known about its author."""
    return _ASKS_FOR_ALL.search(text) is not None


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
