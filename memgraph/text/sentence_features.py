"""Features of a statement: words and characters in sequence, and the form of the sentence."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import cache

from memgraph.text.normalize import HAN, fold
from memgraph.text.words import language_of, word_classes, words

BUCKETS = 1 << 15  # into which features are hashed
MAX_TOKENS = 80
LONG_WORD = 5  # characters from which a word shares features with words that begin or end alike

_TOKEN = re.compile(rf"[{HAN}]|[^\W_{HAN}]+|[?!,.:;\"/]")
_NAME = re.compile(r"(?<=\s)[A-Z]\w+")
_VOCATIVE = re.compile(r",\s[A-Z]\w+\W*\Z")
_NUMBER = re.compile(r"\d+")
_PUNCTUATION = frozenset('?!,.:;"/')


def hashed_features(text: str) -> list[int]:
    """Return the buckets of the features of *text*, each once, in order; the same on every machine."""
    hashes = map(zlib.crc32, map(str.encode, features(text)))
    return sorted({value % BUCKETS for value in hashes})


def features(text: str) -> list[str]:
    """Return the names of the features of *text*, some repeatedly."""
    text = _VOCATIVE.sub("", text)
    tokens = _TOKEN.findall(_NUMBER.sub("0", fold(text).replace("'", "")))[:MAX_TOKENS]
    language = language_of(text)
    parts = _chinese_words().findall("".join(tokens)) if language == "zh" else tokens
    form = list(_form(parts, {name.casefold() for name in _NAME.findall(text)}))
    return [
        f"{language} length {min(len(tokens) // 3, 6)}",
        *_runs("words", ["<", *tokens, ">"], 3),
        *_runs("form", ["<", *form, ">"], 4),
        f"opens {' '.join(form[:2])}",
        f"opens {' '.join(form[:3])}",
        *(_chinese_features(tokens) if language == "zh" else _english_features(tokens, " ".join(form[:2]))),
    ]


def _chinese_features(tokens: Sequence[str]) -> list[str]:
    signs = [token for token in tokens if token not in _PUNCTUATION]
    joined = "".join(tokens)
    found = {name for word, name in word_classes().items() if not word.isascii() and word in joined}
    return [
        *(f"opens {''.join(signs[:size])}" for size in (1, 2, 3, 4)),
        *(f"ends {''.join(signs[-size:])}" for size in (1, 2, 3)),
        *_classes(found, "".join(signs[:2])),
    ]


def _english_features(tokens: Sequence[str], opening: str) -> list[str]:
    classes = word_classes()
    return [*_stems(tokens), *_classes({classes[token] for token in tokens if token in classes}, opening)]


@cache
def _chinese_words() -> re.Pattern[str]:
    """Split a Chinese statement into words of a class, the longest ones first, other scripts, and single characters."""
    known = sorted((word for word in word_classes() if not word.isascii()), key=len, reverse=True)
    return re.compile("|".join([*known, rf"[^\W\d_{HAN}]+", "."]), re.DOTALL)


def _runs(name: str, items: Sequence[str], longest: int) -> list[str]:
    runs = [f"{name} {item}" for item in items]
    found = list(runs)
    for size in range(2, longest + 1):  # each run is the one before, and what follows it
        runs = [f"{run} {item}" for run, item in zip(runs, items[size - 1 :], strict=False)]
        found += runs
    return found


def _classes(found: AbstractSet[str], opening: str) -> Iterator[str]:
    """The classes of the words in a statement, with its *opening* and in pairs."""
    names = sorted(found)
    for place, name in enumerate(names):
        yield from (f"has {name}", f"opens {opening} has {name}")
        yield from (f"has {name} {other}" for other in names[place + 1 :])


def _form(tokens: Sequence[str], names: AbstractSet[str]) -> Iterator[str]:
    """Yield *tokens* with each content word replaced by its class, and runs of unknown words by one sign."""
    last = ""
    for token in tokens:
        form = _class_of(token)
        form = "name" if form == "*" and token in names else form
        if form != "*" or last != "*":
            yield form
        last = form


def _class_of(word: str) -> str:
    known = word_classes().get(word)
    if known or word in words("function_words") or word in _PUNCTUATION or word == "0":
        return known or word
    return next((f"*{ending}" for ending in ("ing", "ed") if word.endswith(ending)), "*")


def _stems(tokens: Sequence[str]) -> Iterator[str]:
    for token in tokens:
        if len(token) >= LONG_WORD:
            yield from (f"begins {token[:4]}", f"begins {token[:5]}", f"ends {token[-3:]}")
