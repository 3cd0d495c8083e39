"""What was wrong in the assistant's answer, by the user's correction."""

import re
from collections.abc import Iterator

from memgraph.llm.offline.english_text import tokens
from memgraph.llm.offline.rules import Language, pattern, words
from memgraph.llm.offline.sentences import BLANK, MAX_CHARS, split

MAX_QUOTE = 200
"""Maximum characters of a quotation in a fact."""
MAX_WRONG_WORDS = 4
"""Maximum words after "not" that may be one name."""
_ASKED = re.compile(r"[^.!?。！？\n]{1,400}[?？]")
_PIECE = 2
"""Consecutive Chinese characters that two sentences must share to be about the same."""


def wrong_term(text: str, language: Language, answer: str) -> str:
    """Return the word that *text* rejects, if the assistant used it; else an empty text."""
    answer_text = _ASKED.sub(" ", answer[:MAX_CHARS]).casefold()
    against = (group for match in pattern(language, "refused").finditer(text) for group in match.groups() if group)
    return next((term for term in (_longest_mention(each, language, answer_text) for each in against) if term), "")


def _longest_mention(rejected: str, language: Language, answer: str) -> str:
    """Return the longest prefix of *rejected* that the answer contains."""
    return next((form for form in _prefixes(rejected, language) if _contains(answer, form)), "")


def _prefixes(rejected: str, language: Language) -> Iterator[str]:
    if language == "zh" and not re.match(r"[A-Za-z]", rejected.strip()):
        yield from (rejected.strip()[:end] for end in range(min(len(rejected.strip()), 8), 1, -1))
        return
    parts = re.findall(r"[A-Za-z0-9][\w.+#/-]*", rejected)[:MAX_WRONG_WORDS]
    for start in (0, 1):
        yield from (
            " ".join(parts[start:end]).rstrip(".")
            for end in range(len(parts), start, -1)
            if not any(part.casefold() in words("en", "no_blame") for part in (parts[start], parts[end - 1]))
        )


def _contains(text: str, form: str) -> bool:
    edge = r"[A-Za-z0-9]"
    return (
        len(form) > 1
        and re.search(rf"(?<!{edge}){re.escape(form.casefold().removesuffix('s'))}(?:s|es)?(?!{edge})", text)
        is not None
    )


def describe_error(reply: str, objection: str, language: Language, answer: str) -> str:
    """Return what went wrong: the assistant's sentence, else the rejected word, else the user's own words."""
    term = wrong_term(reply, language, answer)
    quotes = [sentence.text for sentence in split(answer) if BLANK not in sentence.text and not sentence.is_asked]
    holding = [quote for quote in quotes if term and _contains(quote.casefold(), term) and len(quote) <= MAX_QUOTE]
    if holding:
        return _quote(holding[0], language)
    if term:
        return f"助手用了{term}" if language == "zh" else f"The assistant used {term}."
    about = max(quotes, key=lambda quote: _shared(quote, reply, language), default="")
    if about and len(about) <= MAX_QUOTE and (_shared(about, reply, language) or (len(quotes) == 1 and objection)):
        return _quote(about, language)
    own = objection[:MAX_QUOTE].strip(" ,，.。")
    return f"用户说：“{own}”" if language == "zh" else f'The user said: "{own}"'


def _quote(text: str, language: Language) -> str:
    return f"助手说：“{text.strip(' ：:，,')}”" if language == "zh" else f'The assistant said: "{text}"'


def shares_words(one: str, other: str, language: Language) -> bool:
    """Return whether *one* and *other* are about the same."""
    return _shared(one, other, language) > 0


def _shared(one: str, other: str, language: Language) -> int:
    """Count the content words that *one* and *other* share."""
    return len(_substance(one, language) & _substance(other, language))


def _substance(text: str, language: Language) -> set[str]:
    found = {word.removesuffix("s") for word in tokens(text) if len(word) > 1} - words("en", "no_blame")
    if language == "en":
        return found
    runs = re.findall(r"[\u4e00-\u9fff]+", re.sub(r"[的了我你们是在用不要都吗可以把给就这那个]", " ", text))
    return found | {run[at : at + _PIECE] for run in runs for at in range(len(run) - _PIECE + 1)}
