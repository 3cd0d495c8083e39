"""Writes the clusters of words with a similar meaning that the classifiers know.

    pip install symspellpy jieba && python benchmarks/clusters.py      # ten minutes on two cores

The words are the most frequent ones of the English dictionary of symspellpy (MIT; from Google Books Ngrams, CC BY 3.0,
and SCOWL) and of the Chinese one of jieba (MIT). Words are alike if their vectors by the embedding model `local`,
multilingual-e5-small (MIT), are. The file has a line for each cluster.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import numpy as np
from sklearn.cluster import MiniBatchKMeans
from sklearn.decomposition import PCA

from memgraph.retrieval.embedding_config import EmbeddingConfig
from memgraph.retrieval.embedding_models import make_embeddings

TARGET = Path(__file__).parents[1] / "memgraph/analysis/clusters.txt.gz"
SIZES = {"en": 40_000, "zh": 25_000}
"""Words of a language."""
CLUSTERS = 1_024
"""With 64 and 512, 256 and 2,048, or 512 and 4,096 together the classifiers are equal within .005 of precision."""
DIMENSIONS = 128
SEED = 0
_WORD = {"en": re.compile("[a-z]{2,16}"), "zh": re.compile(r"[\u4e00-\u9fff]{1,4}")}


def frequent(language: str) -> list[str]:
    """Return the most frequent words of *language*."""
    words = (word for word, _ in sorted(_counted(language), key=lambda each: -each[1]))
    return [word for word in words if _WORD[language].fullmatch(word)][: SIZES[language]]


def _counted(language: str) -> Iterator[tuple[str, int]]:
    package, name = {
        "en": ("symspellpy", "frequency_dictionary_en_82_765.txt"),
        "zh": ("jieba", "dict.txt"),
    }[language]
    for line in files(package).joinpath(name).read_text("utf-8").splitlines():
        word, count, *_ = line.split()
        yield word, int(count)


def main() -> None:
    """Write the file."""
    model, words, vectors = make_embeddings(EmbeddingConfig(provider="local")), list[str](), []
    for language in SIZES:
        of_language = frequent(language)
        found = np.array(model.embed_documents(of_language))
        words += of_language
        vectors.append(found - found.mean(axis=0))  # words of both languages with one meaning lie together
    reduced = PCA(DIMENSIONS, random_state=SEED).fit_transform(np.concatenate(vectors))
    reduced /= np.linalg.norm(reduced, axis=1, keepdims=True)
    chosen = MiniBatchKMeans(CLUSTERS, random_state=SEED, batch_size=4_096, n_init=3).fit_predict(reduced)
    clusters: list[list[str]] = [[] for _ in range(CLUSTERS)]
    for word, cluster in zip(words, chosen, strict=True):
        clusters[cluster].append(word)
    text = "\n".join(sorted(" ".join(sorted(cluster)) for cluster in clusters if cluster))
    TARGET.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


if __name__ == "__main__":
    main()
