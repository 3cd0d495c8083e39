"""Decides which statements are worth remembering: logistic regression over hashed features, in NumPy.

The weights are trained by benchmarks/train_offline.py on the labelled sentences in benchmarks/sets.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memgraph.text.sentence_features import hashed_features
from memgraph.text.words import LANGUAGES, Language

WEIGHTS = "lasting.npz"
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


class Prediction(NamedTuple):
    """What the classifier makes of a statement."""

    is_kept: bool
    confidence: float
    """Calibrated probability that the statement is worth remembering, in [0, 1]."""
    category: str


def predict(text: str, language: Language) -> Prediction:
    """Classify the statement *text*."""
    weights = load_weights()
    place = LANGUAGES.index(language)
    score, kinds = scores(text, weights)
    factor, offset = weights.calibration[place]
    probability = float(1 / (1 + np.exp(-(factor * score + offset))))
    return Prediction(
        is_kept=probability >= weights.thresholds[place],
        confidence=round(probability, 2),
        category=KINDS[int(np.argmax(kinds))],
    )


def scores(text: str, weights: Weights) -> tuple[float, NDArray[np.float64]]:
    """Return the score of keeping *text*, and those of its categories, shape (kinds,)."""
    buckets = hashed_features(text)
    unit = weights.scales / np.sqrt(len(buckets) or 1)
    keep = float(weights.keep[buckets].sum() * unit[0] + weights.biases[0])
    return keep, weights.kinds[:, buckets].sum(axis=1) * unit[1] + weights.biases[1:]


@cache
def load_weights() -> Weights:
    """Read the packaged weights, once."""
    with files("memgraph.text").joinpath(WEIGHTS).open("rb") as file, np.load(file) as stored:
        return Weights(**{name: stored[name] for name in Weights._fields})
