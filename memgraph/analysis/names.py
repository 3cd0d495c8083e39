"""Names and numbers of a text: what a model can only have from a source, while other words may be its own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import chain
from types import MappingProxyType

from memgraph.analysis.answers import function_words
from memgraph.analysis.normalize import HAN, MIN_SHARED_CHARS, fold, is_same_form, nfkc
from memgraph.analysis.words import in_order, word_classes, words

_ADDRESS = re.compile(
    r"(?:https?://|www\.)[^\s<>\"'）)]{1,300}|[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})++|(?<!\w)\w{2,}+(?:\.\w{2,}+)++"
)
_WORD = re.compile(rf"[^\W_{HAN}]+(?:['’][^\W_{HAN}]+)*+[+#]*")
_NUMBER = re.compile(r"\d++(?:[.,]\d++)*+")
_THOUSANDS = re.compile(r",(?=\d{3}\b)")
_FULL_HOUR = re.compile(r"(?<=\d):00\b")
_AFTERNOON = re.compile(r"\b(\d{1,2})(?::\d\d)? ?p\.?m\b|(?:下午|晚上) ?(\d{1,2})")
_SENTENCE_START = re.compile(r"(?:\A|[.!?:;。！？：；\n(（\"“‘*])[^\S\n]*+\Z")
_SUBJECT = re.compile(r"(?<!\s)\s++(?:(?:is|was|has|had|are|were|will)\b|[&A-Z])")
_VERB = re.compile(r"(?:s|ed|ing)\Z")
_POSSESSIVE = re.compile(r"['’]s?$")

USER_NAMES = words("user_names")
"""What a fact about the user may call them, in all languages."""
_CALENDAR = words("months") | words("weekdays")
_NO_NAMES = words("function_words") | _CALENDAR | {word[:3] for word in _CALENDAR} | words("no_names") | USER_NAMES
_RELATIONS = frozenset({"FAMILY", "FRIEND", "PET", "JOB"})
"""Classes of the words before a name at the start of a sentence: "Sister Rita"."""

ONES, TENS, ORDINALS = in_order("ones"), in_order("tens"), in_order("ordinals")
"""Words for 0 to 19, 20 to 90, and "first" to "twelfth"."""
_SCALES: Mapping[str, int] = MappingProxyType({"hundred": 100, "thousand": 1_000, "million": 1_000_000})
_WORDS: Mapping[str, int] = MappingProxyType(
    {word: value for value, word in enumerate(ONES)}
    | {word: 10 * value for value, word in enumerate(TENS, 2)}
    | {word: value for value, word in enumerate(ORDINALS, 1)}
    | {"once": 1, "twice": 2, "thrice": 3, "both": 2, "couple": 2, "pair": 2, "twins": 2, "dozen": 12, "noon": 12}
)
_MAX_NUMBER = 10**12
_ENGLISH = re.compile(r"[a-z]+")
_HAN_DIGITS: Mapping[str, int] = MappingProxyType(
    {digit: value for value, digit in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0}
)
_HAN_SCALES: Mapping[str, int] = MappingProxyType({"十": 10, "百": 100, "千": 1_000})
_HAN_NUMBER = re.compile(r"[零〇一二两三四五六七八九十百千万]{1,12}")
_SUFFIXES: Mapping[str, int] = MappingProxyType({"k": 1_000, "千": 1_000, "万": 10_000, "m": 1_000_000} | _SCALES)
_SCALED = re.compile(r"(?<!\d)(\d++(?:\.\d++)?+)\s?(k|m|万|千|hundred|thousand|million)(?![a-z])")


def names_of(text: str) -> Iterator[str]:
    """Return the names in *text*, folded: capitalised words, words with digits or inner capitals, and addresses.

    A capital at the start of a sentence counts only if the word is a subject ("Hana is ...") or an owner ("Hana's").
    Months and weekdays are not names; a Chinese name cannot be distinguished from other words.
    """
    text = nfkc(text)
    for match in _ADDRESS.finditer(text):
        if not _NUMBER.fullmatch(match[0]):
            yield match[0].casefold().rstrip(".,/")
    for match in _WORD.finditer(_ADDRESS.sub(lambda match: " " * len(match[0]), text)):
        word = _POSSESSIVE.sub("", match[0])
        if word.casefold() in _NO_NAMES or word.isdigit():
            continue
        if _is_name(match[0], text, match.start(), match.end()):
            yield word.casefold()


def _is_name(word: str, text: str, start: int, end: int) -> bool:
    if any(map(str.isupper, word[1:])) or (any(map(str.isdigit, word)) and word[0].isalpha()):
        return True
    if not word[0].isupper():
        return False
    is_first = _SENTENCE_START.search(text[max(0, start - 8) : start]) is not None
    if is_first and (word_classes().get(word.casefold()) in _RELATIONS or word.casefold() in function_words()):
        return False
    return (
        not is_first
        or _POSSESSIVE.search(word) is not None
        or (_SUBJECT.match(text, end) is not None and not _VERB.search(word))
    )


def numbers_of(text: str, *, in_words: bool = False) -> frozenset[str]:
    """Return the numbers in *text*, without separators and leading zeros; those written *in_words* too, if asked."""
    folded = _FULL_HOUR.sub("", fold(text))
    runs = _NUMBER.findall(folded)
    digits = set(map(_plain, runs))
    if not in_words:
        return frozenset(digits)
    words = [*_english_numbers(folded), *map(_han_number, _HAN_NUMBER.findall(folded))]
    numbers = digits.union(_shown(words))
    if runs:  # most sentences have no digit, and need none of the searches for what stands next to one
        scaled = (float(match[1]) * _SUFFIXES[match[2]] for match in _SCALED.finditer(folded))
        afternoon = (int(match[1] or match[2]) + 12 for match in _AFTERNOON.finditer(folded))
        parts = (_plain(part) for run in runs for part in run.replace(",", ".").split("."))
        numbers = numbers.union(parts, _shown(scaled), _shown(afternoon))
    return frozenset(numbers)


def _shown(numbers: Iterable[float]) -> Iterator[str]:
    """Yield *numbers* as they are written in digits."""
    return (f"{number:.10g}" for number in numbers)


def _plain(number: str) -> str:
    """Return *number* without the separators of thousands and leading zeros."""
    return (_THOUSANDS.sub("", number) if "," in number else number).lstrip("0") or "0"


def _english_numbers(folded: str) -> Iterator[int]:
    """Yield each number word, and what consecutive ones mean together: "twenty-five" is 20, 5 and 25."""
    words = _ENGLISH.findall(folded)
    if _WORDS.keys().isdisjoint(words):
        return
    total = current = 0
    is_open = False
    for word in [*words, ""]:
        if word in _WORDS:
            yield _WORDS[word]
            current += _WORDS[word]
            is_open = True
        elif word in _SCALES and is_open:
            total, current = (
                (total + current * _SCALES[word], 0) if word != "hundred" else (total, min(current * 100, _MAX_NUMBER))
            )
        elif is_open and word != "and":
            yield total + current
            total = current = 0
            is_open = False


def _han_number(text: str) -> int:
    """Return the number that Chinese numerals mean: 二十五 and 二五 are 25, 一万二 is 12,000."""
    head, has_ten_thousands, tail = text.partition("万")
    if has_ten_thousands:
        rest = _han_number(tail) * (1_000 if len(tail) == 1 and tail in _HAN_DIGITS else 1) if tail else 0
        return (_han_number(head) if head else 1) * 10_000 + rest
    if not any(character in _HAN_SCALES for character in text):
        return int("".join(str(_HAN_DIGITS[character]) for character in text))
    total, digit = 0, 0
    for character in text:
        if character in _HAN_SCALES:
            total += (digit or 1) * _HAN_SCALES[character]
            digit = 0
        else:
            digit = _HAN_DIGITS[character]
    return total + digit


class KnownNames:
    """The names and numbers that some texts contain, in whatever spelling.

    Args:
        texts: What was said.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._joined = "\n".join(texts)

    @cached_property
    def _plain(self) -> str:
        return nfkc(self._joined)

    @cached_property
    def _text(self) -> str:
        return self._plain.casefold()

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(_POSSESSIVE.sub("", word).casefold() for word in set(_WORD.findall(self._plain)))

    @cached_property
    def _beginnings(self) -> frozenset[str]:
        return frozenset(word[:MIN_SHARED_CHARS] for word in self._words)

    @cached_property
    def _numbers(self) -> frozenset[str]:
        return numbers_of(self._joined, in_words=True)

    def missing_from(self, content: str) -> str | None:
        """Return the first name or number of *content* that is not among them; None if all are."""
        names = (name for name in names_of(content) if not self._has_name(name))
        numbers = (number for number in sorted(numbers_of(content)) if number not in self._numbers)
        return next(chain(names, numbers), None)

    def _has_name(self, name: str) -> bool:
        if name in self._words or (len(name) >= MIN_SHARED_CHARS and name in self._text):
            return True
        return name[:MIN_SHARED_CHARS] in self._beginnings and any(is_same_form(name, word) for word in self._words)
