"""Train the classifiers: which sentences are worth remembering, which ones end a known fact, and what is an order.

    python benchmarks/train_offline.py            # writes lasting*.npz, endings.npz and orders.npz in memgraph/analysis
    python benchmarks/train_offline.py --errors   # prints the worst errors of the cross-validation instead

The sentences are in sets/statements.en.tsv and sets/statements.zh.tsv. Everything is chosen by cross-validation on the
sentences that are trained on: the calibration of the probabilities, and the thresholds, which are the lowest ones with
a precision of at least PRECISION. statements.py trains without each source once, and measures it. What ends a fact is
learned from the pairs of sets/endings_told.tsv and sets/endings_talk.tsv, and measured on the sets of life_changes.py.
What orders an assistant to act is learned from sets/orders.tsv, beside sets/records.tsv, and measured by orders.py.
"""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack, vstack
from sets.labels import HERE
from sets.statements import Labelled, read_labelled, read_training, statements_of
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from memgraph.analysis import endings, orders
from memgraph.analysis.lasting import (
    BUCKETS,
    KIND_BUCKETS,
    KINDS,
    WEIGHTS,
    WEIGHTS_WITH_MEANING,
    hashed_features,
    of_kinds,
)
from memgraph.analysis.words import LANGUAGES, language_of
from memgraph.retrieval.embedding_config import EmbeddingConfig
from memgraph.retrieval.embedding_models import make_embeddings
from memgraph.rules.end import topic_terms

OUTPUT = Path(__file__).parent.parent / "memgraph" / "analysis"
PRECISION = 0.90
"""Precision of the kept sentences in the cross-validation, from which the thresholds follow."""
FOLDS = 10
SEED = 0
C = 30.0
"""Inverse strength of the regularisation, chosen by cross-validation among 1, 3, 10, 30 and 60."""
LARGEST, LARGEST_OF_KINDS = 127, 31
"""The largest weight as an integer; the categories need fewer levels, and take less room so."""

TOLD = HERE / "endings_told.tsv"
TALK = HERE / "endings_talk.tsv"
OTHERS_PER_PAIR, SENTENCES_PER_LANGUAGE = 8, 4_000
"""Facts of other people beside each sentence of TOLD, and labelled sentences beside a fact, which end nothing."""
SHARING_PER_PAIR, SHARING_SENTENCES, WEIGHT_OF_SHARING = 3, 6_000, 0.3
"""The same of those that share a word, and the weight of such a pair, chosen among .03, .1, .2, .3, .6 and 1."""
WEIGHT_OF_TALK = 1.0
"""The weight of a pair of TALK, chosen among .3, 1 and 2, by one person of TALK after the other left out."""
C_OF_ENDINGS = 10.0
"""As C, chosen among 3, 10 and 30. Both are chosen on the sets of life_changes.py, where they differ little."""

ORDERS = HERE / "orders.tsv"
RECORDS = HERE / "records.tsv"
HARMLESS = 1_500
"""Facts, and as many sentences worth keeping, in each language, beside the entries of ORDERS."""

Matrix = csr_matrix
Floats = NDArray[np.float64]


class Example(NamedTuple):
    """A statement, and the number of the sentence it is from."""

    text: str
    sentence: int
    is_kept: bool


def to_examples(sentences: Sequence[Labelled]) -> list[Example]:
    """Return the statements in *sentences*, each with the label of its sentence."""
    return [
        Example(statement, number, sentence.is_kept)
        for number, sentence in enumerate(sentences)
        for statement in statements_of(sentence.text)
    ]


class Vectors:
    """The vectors of texts by the embedding model `local`, each computed once."""

    def __init__(self) -> None:
        self._model = make_embeddings(EmbeddingConfig(provider="local"))
        self._known: dict[str, list[float]] = {}

    def of(self, texts: Sequence[str]) -> Matrix:
        """Return a row for each of *texts*, of length 1; shape (texts, dimensions)."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        self._known.update(zip(new, self._model.embed_documents(new) if new else [], strict=True))
        return csr_matrix(np.array([self._known[text] for text in texts]))


def to_matrix(texts: Sequence[str], vectors: Vectors | None = None) -> Matrix:
    """Return the features of *texts*, each row of length 1, and their *vectors*: (texts, buckets + dimensions)."""
    words = of_features([hashed_features(text) for text in texts], BUCKETS)
    return hstack([words, vectors.of(texts)]).tocsr() if vectors else words


def of_features(rows: Sequence[Sequence[int]], buckets: int) -> Matrix:
    """Return a row of length 1 for each list of features."""
    values = [np.full(len(row), 1 / np.sqrt(len(row) or 1)) for row in rows]
    ends = np.cumsum([0, *(len(row) for row in rows)])
    return csr_matrix((np.concatenate(values), np.concatenate(rows), ends), shape=(len(rows), buckets))


def fit(matrix: Matrix, is_kept: NDArray[np.bool_]) -> LogisticRegression:
    return LogisticRegression(C=C, max_iter=1_000).fit(matrix, is_kept)


def teaching(examples: Sequence[Example], scores: Floats | None = None) -> list[int]:
    """Return the places of the examples to train on.

    Of a sentence worth keeping that makes several statements it is not known which one is. It is left out at first,
    then its statement with the highest score is trained on.
    """
    counts = np.bincount([example.sentence for example in examples])
    best: dict[int, int] = {}
    for place, example in enumerate(examples):
        if scores is not None and scores[place] >= scores[best.get(example.sentence, place)]:
            best[example.sentence] = place
    return [
        place
        for place, example in enumerate(examples)
        if not example.is_kept or counts[example.sentence] == 1 or best.get(example.sentence) == place
    ]


def train_binary(examples: Sequence[Example], vectors: Vectors | None = None) -> LogisticRegression:
    """Train on the examples with a certain label, then on those that the result chooses of the others too."""
    return fit_certain(examples, to_matrix([example.text for example in examples], vectors))


def fit_certain(examples: Sequence[Example], matrix: Matrix) -> LogisticRegression:
    """As `train_binary`, for the rows of *matrix*."""
    is_kept = np.array([example.is_kept for example in examples])
    chosen = teaching(examples)
    first = fit(matrix[chosen], is_kept[chosen])
    chosen = teaching(examples, first.decision_function(matrix))
    return fit(matrix[chosen], is_kept[chosen])


def cross_validate(sentences: Sequence[Labelled], vectors: Vectors | None = None) -> Floats:
    """Return a score of each sentence, that of its best statement, by a classifier that has not seen it."""
    scores = np.full(len(sentences), -np.inf)
    strata = [f"{sentence.language} {sentence.is_kept}" for sentence in sentences]
    for seen, unseen in StratifiedKFold(FOLDS, shuffle=True, random_state=SEED).split(strata, strata):
        model = train_binary(to_examples([sentences[place] for place in seen]), vectors)
        scores[unseen] = best_scores(model, [sentences[place] for place in unseen], vectors)
    return scores


def best_scores(model: LogisticRegression, sentences: Sequence[Labelled], vectors: Vectors | None) -> Floats:
    """Return the score of each sentence, that of its best statement; minus infinity without any."""
    scores, examples = np.full(len(sentences), -np.inf), to_examples(sentences)
    found = model.decision_function(to_matrix([example.text for example in examples], vectors))
    for example, score in zip(examples, found, strict=True):
        scores[example.sentence] = max(scores[example.sentence], score)
    return scores


def scores_of(
    sentences: Sequence[Labelled], others: Sequence[Labelled], vectors: Vectors | None = None
) -> tuple[Floats, float]:
    """Return the probability of each of *sentences*, of one language, and the threshold, trained on *others*."""
    model, limits = train_binary(to_examples(others), vectors), fit_probabilities(others, vectors)
    scores = best_scores(model, sentences, vectors)
    place = LANGUAGES.index(sentences[0].language)
    factor, offset = limits["calibration"][place]
    return 1 / (1 + np.exp(-(factor * scores + offset))), float(limits["thresholds"][place])


def calibrate(scores: Floats, is_kept: NDArray[np.bool_]) -> tuple[float, float]:
    """Return the factor and the offset that turn a score into a logit (Platt scaling).

    Both labels weigh the same, so that a probability does not depend on how many negatives the set has.
    """
    model = LogisticRegression(C=1e6, class_weight="balanced").fit(scores[:, None], is_kept)
    return float(model.coef_[0, 0]), float(model.intercept_[0])


def threshold(scores: Floats, is_kept: NDArray[np.bool_], precision: float) -> float:
    """Return the lowest score from which *precision* is reached."""
    order = np.argsort(-scores)
    reached = np.cumsum(is_kept[order]) / np.arange(1, len(order) + 1) >= precision
    return float(scores[order][np.flatnonzero(reached)[-1]])


def to_integers(weights: Floats, largest: int = LARGEST) -> tuple[NDArray[np.int8], float]:
    """Return *weights* as integers up to *largest*, and their scale."""
    scale = float(np.abs(weights).max()) / largest
    return np.round(weights / scale).astype(np.int8), scale


def fit_probabilities(sentences: Sequence[Labelled], vectors: Vectors | None = None) -> dict[str, NDArray[np.generic]]:
    """Return the arrays `calibration` and `thresholds`, by cross-validation."""
    scores, is_kept = cross_validate(sentences, vectors), np.array([sentence.is_kept for sentence in sentences])
    calibration, thresholds = list[tuple[float, float]](), list[float]()
    for language in LANGUAGES:
        ours = np.array([each.language == language for each in sentences]) & np.isfinite(scores)
        factor, offset = calibrate(scores[ours], is_kept[ours])
        limit = factor * threshold(scores[ours], is_kept[ours], PRECISION) + offset
        calibration.append((factor, offset))
        thresholds.append(float(1 / (1 + np.exp(-limit))))
    return {"calibration": np.array(calibration), "thresholds": np.array(thresholds)}


def train(sentences: Sequence[Labelled]) -> dict[str, NDArray[np.generic]]:
    """Return the arrays of a `Weights`."""
    examples = to_examples(sentences)
    keep, kinds = train_binary(examples), train_kinds(sentences, examples)
    keep_weights, keep_scale = to_integers(keep.coef_[0])
    kind_weights, kind_scale = to_integers(kinds.coef_, LARGEST_OF_KINDS)
    return {
        "keep": keep_weights,
        "kinds": np.ascontiguousarray(kind_weights.T),
        "scales": np.array([keep_scale, kind_scale]),
        "biases": np.concatenate([keep.intercept_, kinds.intercept_]),
        **fit_probabilities(sentences),
    }


def train_with_meaning(sentences: Sequence[Labelled], vectors: Vectors) -> dict[str, NDArray[np.generic]]:
    """Return the arrays of `Weights` with the meaning."""
    keep = train_binary(to_examples(sentences), vectors)
    (words, words_scale), (meaning, meaning_scale) = map(to_integers, np.split(keep.coef_[0], [BUCKETS]))
    return {
        "keep": words,
        "meaning": meaning,
        "scales": np.array([words_scale, meaning_scale]),
        "bias": keep.intercept_[0],
        **fit_probabilities(sentences, vectors),
    }


def train_kinds(sentences: Sequence[Labelled], examples: Sequence[Example]) -> LogisticRegression:
    """Train the categories, on the sentences worth keeping."""
    kept = [example for example in examples if example.is_kept]
    labels = [sentences[example.sentence].label for example in kept]
    features = of_features([of_kinds(hashed_features(example.text)) for example in kept], KIND_BUCKETS)
    model = LogisticRegression(C=C, max_iter=1_000).fit(features, labels)
    assert tuple(model.classes_) == KINDS
    return model


# -- what ends a known fact -------------------------------------------------------------------------


class Told(NamedTuple):
    """What was known, what was said later, and whether that ended it."""

    known: str
    said: str
    is_end: bool


def read_told() -> list[Told]:
    """Return the pairs of TOLD."""
    lines = (line.split("\t") for line in TOLD.read_text("utf-8").splitlines() if not line.startswith("#"))
    return [Told(known, said, kind == "ends") for kind, _, known, said in lines]


def read_talk() -> list[Told]:
    """Return the pairs of TALK: in ordinary talk hardly a message ends what is known."""
    lines = (line.split("\t") for line in TALK.read_text("utf-8").splitlines() if not line.startswith("#"))
    return [Told(known, said, is_end=False) for _, known, said in lines]


def unrelated(told: Sequence[Told], sentences: Sequence[Labelled]) -> list[Told]:
    """Return what was said later with facts of other people, and *sentences* with facts: nothing ends."""
    draw = random.Random(SEED)  # noqa: S311 - not for secrets
    found: list[Told] = []
    for language in LANGUAGES:
        ours = [one for one in told if language_of(one.said) == language]
        texts = [one.text for one in sentences if one.language == language]
        pairs = [(other, one.said) for one in ours for other in draw.choices(ours, k=OTHERS_PER_PAIR) if other != one]
        pairs += zip(
            draw.choices(ours, k=SENTENCES_PER_LANGUAGE), draw.choices(texts, k=SENTENCES_PER_LANGUAGE), strict=True
        )
        found += [Told(other.known, said, is_end=False) for other, said in pairs]
    return found


def sharing(told: Sequence[Told], sentences: Sequence[Labelled]) -> list[Told]:
    """Return pairs as those of `unrelated` that share a word, and are not about what the user spoke about."""
    draw = random.Random(SEED)  # noqa: S311 - not for secrets
    found: list[Told] = []
    for language in LANGUAGES:
        ours = [one for one in told if language_of(one.said) == language]
        own, about = defaultdict[str, list[frozenset[str]]](list), defaultdict[str, list[str]](list)
        terms_of = {one.known: topic_terms(one.known) for one in ours}
        for one in ours:
            own[one.said].append(terms_of[one.known])
        for known, terms in terms_of.items():
            for term in sorted(terms):
                about[term].append(known)
        texts = [one.text for one in sentences if one.language == language]
        counts = dict.fromkeys(draw.sample(texts, SHARING_SENTENCES), 1) | dict.fromkeys(own, SHARING_PER_PAIR)
        for said, count in counts.items():
            others = [
                known
                for known in dict.fromkeys(known for term in sorted(topic_terms(said)) for known in about[term])
                if not any(len(terms_of[known] & terms) > 1 or terms_of[known] <= terms for terms in own[said])
            ]
            found += [Told(known, said, is_end=False) for known in draw.sample(others, min(count, len(others)))]
    return found


def train_endings(
    told: Sequence[Told], talk: Sequence[Told], sentences: Sequence[Labelled]
) -> dict[str, NDArray[np.generic]]:
    """Return the arrays of the two classifiers of endings.

    That both are about the same is learned from all pairs and unrelated ones. That one then ends the other is learned
    from the pairs, and a little from others that share a word. Both learn from ordinary *talk*, which ends nothing.
    """

    def features(pairs: Sequence[Told]) -> Matrix:
        return of_features([endings.end_features(one.known, one.said) for one in pairs], endings.BUCKETS)

    def fit(others: Sequence[Told], labels: Sequence[bool], weight: float) -> LogisticRegression:
        labelled = [*labels, *(False for _ in (*talk, *others))]
        weights = [*(1.0 for _ in told), *(WEIGHT_OF_TALK for _ in talk), *(weight for _ in others)]
        return LogisticRegression(C=C_OF_ENDINGS, max_iter=2_000).fit(
            vstack([features(pairs) for pairs in (told, talk, others)]), labelled, sample_weight=weights
        )

    ends = fit(sharing(told, sentences), [one.is_end for one in told], WEIGHT_OF_SHARING)
    related = fit(unrelated(told, sentences), [True for _ in told], 1)
    (end_words, end_scale), (related_words, related_scale) = (to_integers(each.coef_[0]) for each in (ends, related))
    return {
        "ends": end_words,
        "related": related_words,
        "scales": np.array([end_scale, related_scale]),
        "biases": np.concatenate([ends.intercept_, related.intercept_]),
    }


class Entry(NamedTuple):
    """An entry of a memory, by one writer."""

    is_order: bool
    writer: str
    language: str
    text: str


def read_entries(path: Path = ORDERS) -> list[Entry]:
    """Read the entries of *path*."""
    lines = (line.split("\t") for line in path.read_text("utf-8").splitlines() if not line.startswith("#"))
    return [Entry(label == "order", *rest) for label, *rest in lines]


def read_harmless() -> list[Entry]:
    """Return facts, sentences worth keeping and records of a life, of other sets, which order nothing."""
    draw, found = random.Random(SEED), list[Entry]()  # noqa: S311 - reproducible
    for source, texts in (
        ("told", {one.known for one in read_told()}),
        ("kept", {each.text for each in read_training() if each.is_kept}),
    ):
        for language in LANGUAGES:
            ours = sorted(text for text in texts if language_of(text) == language)
            found += [Entry(False, source, language, text) for text in draw.sample(ours, HARMLESS)]  # noqa: FBT003
    lines = (line.split("\t") for line in RECORDS.read_text("utf-8").splitlines() if not line.startswith("#"))
    return [*found, *(Entry(False, *line) for line in lines)]  # noqa: FBT003


def train_orders(entries: Sequence[Entry]) -> dict[str, NDArray[np.generic]]:
    """Return the arrays of the classifier of orders. Which sentence of an entry is the order is learned, too."""
    parts = [(number, tokens) for number, entry in enumerate(entries) for tokens in orders.order_parts(entry.text)]
    examples = [Example(" ".join(tokens), number, entries[number].is_order) for number, tokens in parts]
    rows = [orders.order_features(tokens) for _, tokens in parts]
    model = fit_certain(examples, of_features(rows, orders.BUCKETS))
    words, scale = to_integers(model.coef_[0])
    return {"words": words, "scales": np.array([scale]), "biases": model.intercept_}


def print_errors(sentences: Sequence[Labelled], count: int = 40) -> None:
    scores = cross_validate(sentences)
    for language in LANGUAGES:
        ours = [place for place, sentence in enumerate(sentences) if sentence.language == language]
        finite = np.array([place for place in ours if np.isfinite(scores[place])])
        is_kept = np.array([sentences[place].is_kept for place in finite])
        total = sum(sentences[place].is_kept for place in ours)
        for precision in (0.9, 0.92, 0.94, 0.96):
            limit = threshold(scores[finite], is_kept, precision)
            print(language, precision, f"recall {((scores[finite] >= limit) & is_kept).sum() / total:.3f}")
        wrong = sorted((p for p in ours if not sentences[p].is_kept), key=lambda p: -scores[p])[:count]
        missed = sorted((p for p in ours if sentences[p].is_kept), key=lambda p: scores[p])[:count]
        for place in (*wrong, *missed):
            print(f"{scores[place]:7.2f} {sentences[place].label:10} {sentences[place].text}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--errors", action="store_true", help="print the worst errors of the cross-validation")
    args = parser.parse_args()
    sentences = [*read_training()]
    if args.errors:
        print_errors(sentences)
    else:
        save(WEIGHTS, train(sentences))
        save(WEIGHTS_WITH_MEANING, train_with_meaning(sentences, Vectors()))
        save(endings.WEIGHTS, train_endings(read_told(), read_talk(), [*read_labelled()]))
        save(orders.WEIGHTS, train_orders([*read_entries(), *read_harmless()]))


def save(name: str, arrays: dict[str, NDArray[np.generic]]) -> None:
    """Write *arrays*, and print the size."""
    np.savez_compressed(OUTPUT / name, **arrays)
    print(f"{name}: {(OUTPUT / name).stat().st_size / 1_000:.0f} kB")


if __name__ == "__main__":
    main()
