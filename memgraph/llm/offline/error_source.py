"""What of the assistant's answer a user calls wrong."""

import re
from collections.abc import Iterator

from memgraph.llm.offline.english_text import tokens
from memgraph.llm.offline.rules import Language, pattern, words
from memgraph.llm.offline.sentences import BLANK, MAX_CHARS, split

MAX_QUOTE = 200
"""Characters of somebody's words that a fact may hold."""
MAX_WRONG_WORDS = 4
"""Of what stands after "not", as many words as may be one name."""
_ASKED = re.compile(r"[^.!?。！？\n]{1,400}[?？]")
_PIECE = 2
"""Chinese characters that two sentences must share to be about the same."""


def wrong_term(text: str, language: Language, answer: str) -> str:
    """The word that *text* calls wrong, if the assistant used it; empty otherwise."""
    told = _ASKED.sub(" ", answer[:MAX_CHARS]).casefold()
    against = (group for match in pattern(language, "refused").finditer(text) for group in match.groups() if group)
    return next((term for term in (_heard(each, language, told) for each in against) if term), "")


def _heard(said: str, language: Language, answer: str) -> str:
    """The longest beginning of *said* that the answer holds."""
    return next((form for form in _beginnings(said, language) if _holds(answer, form)), "")


def _beginnings(said: str, language: Language) -> Iterator[str]:
    if language == "zh" and not re.match(r"[A-Za-z]", said.strip()):
        yield from (said.strip()[:end] for end in range(min(len(said.strip()), 8), 1, -1))
        return
    parts = re.findall(r"[A-Za-z0-9][\w.+#/-]*", said)[:MAX_WRONG_WORDS]
    for start in (0, 1):
        yield from (
            " ".join(parts[start:end]).rstrip(".")
            for end in range(len(parts), start, -1)
            if not any(part.casefold() in words("en", "no_blame") for part in (parts[start], parts[end - 1]))
        )


def _holds(text: str, form: str) -> bool:
    edge = r"[A-Za-z0-9]"
    return (
        len(form) > 1
        and re.search(rf"(?<!{edge}){re.escape(form.casefold().removesuffix('s'))}(?:s|es)?(?!{edge})", text)
        is not None
    )


def blame(reply: str, objection: str, language: Language, answer: str) -> str:
    """What went wrong: the assistant's sentence on it, the word that is wrong, or else the user's own words."""
    term = wrong_term(reply, language, answer)
    quotes = [sentence.text for sentence in split(answer) if BLANK not in sentence.text and not sentence.is_asked]
    holding = [quote for quote in quotes if term and _holds(quote.casefold(), term) and len(quote) <= MAX_QUOTE]
    if holding:
        return _quoted(holding[0], language)
    if term:
        return f"助手用了{term}" if language == "zh" else f"The assistant used {term}."
    about = max(quotes, key=lambda quote: _shared(quote, reply, language), default="")
    if about and len(about) <= MAX_QUOTE and (_shared(about, reply, language) or (len(quotes) == 1 and objection)):
        return _quoted(about, language)
    own = objection[:MAX_QUOTE].strip(" ,，.。")
    return f"用户说：“{own}”" if language == "zh" else f'The user said: "{own}"'


def _quoted(text: str, language: Language) -> str:
    return f"助手说：“{text.strip(' ：:，,')}”" if language == "zh" else f'The assistant said: "{text}"'


def shares_words(one: str, other: str, language: Language) -> bool:
    """Whether *one* and *other* are about the same."""
    return _shared(one, other, language) > 0


def _shared(one: str, other: str, language: Language) -> int:
    """How many words of substance *one* and *other* share."""
    return len(_substance(one, language) & _substance(other, language))


def _substance(text: str, language: Language) -> set[str]:
    found = {word.removesuffix("s") for word in tokens(text) if len(word) > 1} - words("en", "no_blame")
    if language == "en":
        return found
    runs = re.findall(r"[\u4e00-\u9fff]+", re.sub(r"[的了我你们是在用不要都吗可以把给就这那个]", " ", text))
    return found | {run[at : at + _PIECE] for run in runs for at in range(len(run) - _PIECE + 1)}
