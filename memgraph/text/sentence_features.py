"""Features of a statement: words and characters in sequence, and the form of the sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from zlib import crc32

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
_ENDINGS = ("ing", "ed")


def hashed_features(text: str) -> list[int]:
    """Return the buckets of the features of *text*, each once, in order; the same on every machine."""
    text = _VOCATIVE.sub("", text)
    tokens = _TOKEN.findall(_NUMBER.sub("0", fold(text).replace("'", "")))[:MAX_TOKENS]
    language = language_of(text)
    parts = _chinese_words().findall("".join(tokens)) if language == "zh" else tokens
    form = list(_form(parts, {name.casefold() for name in _NAME.findall(text)}))
    others = [
        f"{language} length {min(len(tokens) // 3, 6)}",
        f"opens {' '.join(form[:2])}",
        f"opens {' '.join(form[:3])}",
        *(_chinese_features(tokens) if language == "zh" else _english_features(tokens, " ".join(form[:2]))),
    ]
    hashes = [*_hashed_runs("words", tokens, 3), *_hashed_runs("form", form, 4), *map(crc32, map(str.encode, others))]
    return sorted({value % BUCKETS for value in hashes})


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


def _hashed_runs(name: str, items: Sequence[str], longest: int) -> list[int]:
    """Return the hashes of the runs of up to *longest* of *items* and of their ends, each behind *name*.

    A checksum continues: that of a run is that of the run before it, continued by one item.
    """
    encoded = [f" {item}".encode() for item in ("<", *items, ">")]
    opening = crc32(name.encode())
    hashes = [crc32(item, opening) for item in encoded]
    found = list(hashes)
    for size in range(2, longest + 1):
        hashes = [crc32(item, value) for item, value in zip(encoded[size - 1 :], hashes, strict=False)]
        found += hashes
    return found


def _classes(found: AbstractSet[str], opening: str) -> Iterator[str]:
    """The classes of the words in a statement, with its *opening* and in pairs."""
    names = sorted(found)
    for place, name in enumerate(names):
        yield from (f"has {name}", f"opens {opening} has {name}")
        yield from (f"has {name} {other}" for other in names[place + 1 :])


def _form(tokens: Sequence[str], names: AbstractSet[str]) -> Iterator[str]:
    """Yield *tokens* with each content word replaced by its class, and runs of unknown words by one sign."""
    last, forms = "", _forms()
    for token in tokens:
        form = forms.get(token) or next((f"*{ending}" for ending in _ENDINGS if token.endswith(ending)), "*")
        form = "name" if form == "*" and token in names else form
        if form != "*" or last != "*":
            yield form
        last = form


@cache
def _forms() -> Mapping[str, str]:
    """Return the form of each word that has one: its class; a function word, a mark and the digit stay."""
    return {word: word for word in (*words("form_words"), *_PUNCTUATION, "0")} | dict(word_classes())


def _stems(tokens: Sequence[str]) -> Iterator[str]:
    for token in tokens:
        if len(token) >= LONG_WORD:
            yield from (f"begins {token[:4]}", f"begins {token[:5]}", f"ends {token[-3:]}")
