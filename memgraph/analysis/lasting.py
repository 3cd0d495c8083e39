"""Decides which statements are worth remembering: logistic regression over hashed features.

With an embedding model its vectors are features, too. The weights are trained by benchmarks/train_offline.py on the
labelled sentences in benchmarks/sets, and read without NumPy: importing it takes a tenth of the CPU of an update.
"""

from __future__ import annotations

import io
import math
import re
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from operator import mul
from typing import Any, NamedTuple
from zipfile import ZipFile
from zlib import crc32

from memgraph.analysis.clusters import clusters, is_cluster, split_words, vocabulary
from memgraph.analysis.normalize import HAN, fold
from memgraph.analysis.words import LANGUAGES, Language, language_of, word_classes, words

BUCKETS, KIND_BUCKETS = 1 << 16, 1 << 14  # into which features are hashed; those of the categories
MAX_TOKENS = 80
LONG_WORD = 5  # characters from which a word shares features with words that begin or end alike

_TOKEN = re.compile(rf"[{HAN}]|[^\W_{HAN}]+|[?!,.:;\"/]")
_NUMBER = re.compile(r"\d+")
_PUNCTUATION = frozenset('?!,.:;"/')
_ENDINGS = ("ing", "ed")


def hashed_features(text: str) -> list[int]:
    """Return the buckets of the features of *text*, each once, in order; the same on every machine."""
    tokens, language = tokens_of(text), language_of(text)
    parts = split_words(tokens, language, vocabulary())
    form, meanings = [*form_of(parts)], clusters_of(parts)
    others = [
        f"{language} length {min(len(tokens) // 3, 6)}",
        f"opens {' '.join(form[:2])}",
        f"opens {' '.join(form[:3])}",
        *(stems(tokens) if language == "en" else ()),
        *_classes(parts, meanings, " ".join(form[:2])),
    ]
    hashes = [
        *hashed_runs("words", tokens, 3),
        *hashed_runs("form", form, 4),
        *hashed_runs("meanings", meanings, 3),
        *map(crc32, map(str.encode, others)),
    ]
    return sorted({value % BUCKETS for value in hashes})


def of_kinds(buckets: Sequence[int]) -> list[int]:
    """Return the buckets by which a category is chosen: fewer are enough for what is worth remembering."""
    return sorted({bucket % KIND_BUCKETS for bucket in buckets})


def tokens_of(text: str, most: int | None = MAX_TOKENS) -> list[str]:
    """Return the words, Chinese characters and marks of *text*, up to *most*, folded, with 0 for each number."""
    return _TOKEN.findall(_NUMBER.sub("0", fold(text).replace("'", "")))[:most]


def hashed_runs(name: str, items: Sequence[str], longest: int) -> list[int]:
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


def _classes(parts: Sequence[str], meanings: Sequence[str], opening: str) -> Iterator[str]:
    """The classes of the words in a statement and their clusters, with its *opening*, and classes in pairs."""
    classes = word_classes()
    names = sorted({classes[part] for part in parts if part in classes})
    for place, name in enumerate(names):
        yield from (f"has {name}", f"opens {opening} has {name}")
        yield from (f"has {name} {other}" for other in names[place + 1 :])
    yield from (f"opens {opening} has {meaning}" for meaning in {*meanings} if is_cluster(meaning))


def form_of(tokens: Iterable[str]) -> Iterator[str]:
    """Yield *tokens* with each content word replaced by its class, and runs of unknown words by one sign."""
    last, forms = "", _forms()
    for token in tokens:
        form = forms.get(token) or next((f"*{ending}" for ending in _ENDINGS if token.endswith(ending)), "*")
        if form != "*" or last != "*":
            yield form
        last = form


def clusters_of(parts: Sequence[str]) -> list[str]:
    """Return the cluster of each word of *parts*; a function word or a mark stays, and one sign is any other word."""
    forms, known = _forms(), clusters()
    return [part if forms.get(part) == part else known.get(part, "*") for part in parts]


@cache
def _forms() -> Mapping[str, str]:
    """Return the form of each word that has one: its class; a function word, a mark and the digit stay."""
    return {word: word for word in (*words("form_words"), *_PUNCTUATION, "0")} | dict(word_classes())


def stems(tokens: Sequence[str]) -> Iterator[str]:
    for token in tokens:
        if len(token) >= LONG_WORD:
            yield from (f"begins {token[:4]}", f"begins {token[:5]}", f"ends {token[-3:]}")


# -- the model --------------------------------------------------------------------------------------

WEIGHTS = "lasting.npz"
WEIGHTS_WITH_MEANING = "lasting_local.npz"
"""Trained with the vectors of the embedding model `local`."""
KINDS = ("behavior", "context", "goal", "knowledge", "preference")
"""The categories that the classifier distinguishes, in the order of their weights."""


class Weights(NamedTuple):
    """A trained classifier. Its weights are 8-bit integers, to be multiplied by their scale.

    Lengths: keep buckets; others kind buckets * kinds, those of one bucket side by side, or, of a classifier that also
    knows the vector of a statement, dimensions; scales 2, for these two; biases 1 + kinds, or 1; calibration 2 *
    languages, the factor and the offset that turn a score into the logit of a probability; thresholds languages, the
    probabilities from which a statement is kept.
    """

    keep: memoryview
    others: memoryview
    scales: tuple[float, ...]
    biases: tuple[float, ...]
    calibration: tuple[float, ...]
    thresholds: tuple[float, ...]


class Prediction(NamedTuple):
    """What the classifier makes of a statement."""

    is_kept: bool
    confidence: float
    """Calibrated probability that the statement is worth remembering, in [0, 1]."""
    category: str


def predict(text: str, language: Language, meaning: Sequence[float] | None = None) -> Prediction:
    """Classify the statement *text*.

    Args:
        text: The statement.
        language: Its language.
        meaning: Its vector by the embedding model `local`, of length 1.
    """
    buckets = hashed_features(text)
    probability, threshold = _judge(buckets, language, meaning)
    return Prediction(is_kept=probability >= threshold, confidence=round(probability, 2), category=_category(buckets))


def confidence_of(text: str, language: Language) -> float:
    """Return the probability that the statement *text* is worth remembering, in [0, 1], as `predict` does."""
    return round(_judge(hashed_features(text), language)[0], 2)


def _judge(buckets: Sequence[int], language: Language, meaning: Sequence[float] | None = None) -> tuple[float, float]:
    """Return the probability that a statement is worth remembering, and that from which it is kept."""
    chosen = load_weights(with_meaning=meaning is not None)
    score = score_words(buckets, chosen.keep, chosen.scales[0]) + chosen.biases[0]
    if meaning is not None:
        score += sum(map(mul, chosen.others, meaning)) * chosen.scales[1]
    place = LANGUAGES.index(language)
    factor, offset = chosen.calibration[2 * place : 2 * place + 2]
    return logistic(factor * score + offset), chosen.thresholds[place]


def logistic(score: float) -> float:
    """Return the probability of a score; it does not overflow."""
    return (1 + math.tanh(score / 2)) / 2


def score_words(buckets: Sequence[int], weights: memoryview, scale: float) -> float:
    """Return the score of a text with these features, without a bias."""
    return sum(map(weights.__getitem__, buckets)) * scale / math.sqrt(len(buckets) or 1)


def _category(buckets: Sequence[int]) -> str:
    """Return the most probable category."""
    weights, count, buckets = load_weights(), len(KINDS), of_kinds(buckets)
    unit = weights.scales[1] / math.sqrt(len(buckets) or 1)
    sums = (sum(weights.others[bucket * count + place] for bucket in buckets) for place in range(count))
    scores = [total * unit + bias for total, bias in zip(sums, weights.biases[1:], strict=True)]
    return KINDS[scores.index(max(scores))]


@cache
def load_weights(*, with_meaning: bool = False) -> Weights:
    """Read the packaged weights, or those with the meaning, once."""
    file, others, biases = (WEIGHTS_WITH_MEANING, "meaning", "bias") if with_meaning else (WEIGHTS, "kinds", "biases")
    floats = ("scales", biases, "calibration", "thresholds")
    return Weights(*read_arrays(file, integers=("keep", others), floats=floats).values())


class Linear(NamedTuple):
    """A classifier of hashed features. Its weights are 8-bit integers, to be multiplied by *scale*; one a bucket."""

    weights: memoryview
    scale: float
    bias: float

    def probability(self, buckets: Sequence[int]) -> float:
        """Return the probability, in [0, 1], of a text with these features."""
        return logistic(score_words(buckets, self.weights, self.scale) + self.bias)


@cache
def load_linear(file: str, *names: str) -> Sequence[Linear]:
    """Read the packaged classifiers *names* of *file*, once; its scales and biases are in their order."""
    read = read_arrays(file, integers=names, floats=("scales", "biases"))
    return [Linear(read[name], *rest) for name, *rest in zip(names, read["scales"], read["biases"], strict=True)]


def read_arrays(name: str, *, integers: Sequence[str], floats: Sequence[str]) -> dict[str, Any]:
    """Return the arrays of the packaged file *name*."""
    with ZipFile(io.BytesIO(files("memgraph.analysis").joinpath(name).read_bytes())) as stored:
        whole = {array: memoryview(_read_array(stored, array, "|i1")).cast("b") for array in integers}
        real = {array: _read_array(stored, array, "<f8") for array in floats}
    return whole | {array: struct.unpack(f"<{len(data) // 8}d", data) for array, data in real.items()}


def _read_array(stored: ZipFile, name: str, kind: str) -> bytes:
    """Return the numbers of an array, row by row.

    Source:
        The NPY format, version 1.0: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
    """
    data = stored.read(f"{name}.npy")
    end = 10 + int.from_bytes(data[8:10], "little")
    if data[:8] != b"\x93NUMPY\x01\x00" or f"'descr': '{kind}', 'fortran_order': False".encode() not in data[:end]:
        raise ValueError(f"{name} is not an array of {kind}, row by row")
    return data[end:]
