"""Decides which statements are worth remembering: logistic regression over hashed features, in NumPy.

With an embedding model its vectors are features, too. The weights are trained by benchmarks/train_offline.py on the
labelled sentences in benchmarks/sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memgraph.text.sentence_features import hashed_features
from memgraph.text.words import LANGUAGES, Language

WEIGHTS = "lasting.npz"
WEIGHTS_WITH_MEANING = "lasting_local.npz"
"""Trained with the vectors of the embedding model `local`."""
KINDS = ("behavior", "context", "goal", "knowledge", "preference")
"""The categories that the classifier distinguishes, in the order of their weights."""


class Weights(NamedTuple):
    """A trained classifier. Its weights are 8-bit integers, to be multiplied by their scale.

    Shapes: keep (buckets,), kinds (kinds, buckets), scales (2,) for these two, biases (1 + kinds,), calibration
    (languages, 2) with the factor and the offset that turn a score into the logit of a probability, and thresholds
    (languages,), the probabilities from which a statement is kept.
    """

    keep: NDArray[np.int8]
    kinds: NDArray[np.int8]
    scales: NDArray[np.float64]
    biases: NDArray[np.float64]
    calibration: NDArray[np.float64]
    thresholds: NDArray[np.float64]


class MeaningWeights(NamedTuple):
    """A classifier that also knows the vector of a statement; its categories are those of `Weights`.

    Shapes: keep (buckets,), meaning (dimensions,), scales (2,) for these two, bias (), calibration (languages, 2) and
    thresholds (languages,).
    """

    keep: NDArray[np.int8]
    meaning: NDArray[np.int8]
    scales: NDArray[np.float64]
    bias: NDArray[np.float64]
    calibration: NDArray[np.float64]
    thresholds: NDArray[np.float64]


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
    weights = load_weights()
    score, kinds = scores(text, weights)
    chosen: Weights | MeaningWeights = weights
    if meaning is not None:
        chosen = load_meaning_weights()
        score = _score_with_meaning(text, meaning, chosen)
    place = LANGUAGES.index(language)
    factor, offset = chosen.calibration[place]
    probability = float(1 / (1 + np.exp(-(factor * score + offset))))
    return Prediction(
        is_kept=probability >= chosen.thresholds[place],
        confidence=round(probability, 2),
        category=KINDS[int(np.argmax(kinds))],
    )


def _score_with_meaning(text: str, meaning: Sequence[float], weights: MeaningWeights) -> float:
    buckets = hashed_features(text)
    of_words = weights.keep[buckets].sum() * weights.scales[0] / np.sqrt(len(buckets) or 1)
    return float(of_words + weights.meaning @ np.asarray(meaning) * weights.scales[1] + weights.bias)


def scores(text: str, weights: Weights) -> tuple[float, NDArray[np.float64]]:
    """Return the score of keeping *text*, and those of its categories, shape (kinds,)."""
    buckets = hashed_features(text)
    unit = weights.scales / np.sqrt(len(buckets) or 1)
    keep = float(weights.keep[buckets].sum() * unit[0] + weights.biases[0])
    return keep, weights.kinds[:, buckets].sum(axis=1) * unit[1] + weights.biases[1:]


@cache
def load_weights() -> Weights:
    """Read the packaged weights, once."""
    return Weights(**_read(WEIGHTS))


@cache
def load_meaning_weights() -> MeaningWeights:
    """Read those with the meaning, once."""
    return MeaningWeights(**_read(WEIGHTS_WITH_MEANING))


def _read(name: str) -> dict[str, NDArray[Any]]:
    with files("memgraph.text").joinpath(name).open("rb") as file, np.load(file) as stored:
        return dict(stored)
