"""The reference ranker: scikit-learn's TF-IDF as it comes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from memgraph.models import Fact
from memgraph.retrieval.lexical import Scores, searchable_text
from memgraph.retrieval.query import Query


class TfidfIndex:
    """Cosine of TF-IDF vectors, by scikit-learn's defaults.

    Its pattern of words finds none in Chinese: it is here to compare with.

    Args:
        facts: N facts in any order.
    """

    def __init__(self, facts: Sequence[Fact]) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer

        self._vectorizer: Any = TfidfVectorizer()
        self._size = len(facts)
        try:
            self._facts: Any = self._vectorizer.fit_transform([searchable_text(fact) for fact in facts])
        except ValueError:  # there is no word in any fact
            self._facts = None

    def scores(self, query: Query) -> Scores:
        """Return N scores in [0, 1], in the order of the facts."""
        if self._facts is None or not query:
            return np.zeros(self._size)
        return np.asarray(
            (self._facts @ self._vectorizer.transform([query.text]).T).todense(), dtype=np.float64
        ).ravel()
