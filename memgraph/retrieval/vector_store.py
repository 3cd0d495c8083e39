"""What keeps vectors beyond the life of a process: the contract, and the identity of the model that made them."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]

SAME_MODEL_COSINE = 0.995
"""Two vectors of PROBE at least this similar are of one model; those of one model differ by rounding only."""
PROBE = "Which embedding model is this?"


@dataclass(frozen=True, eq=False, slots=True)
class ModelIdentity:
    """What distinguishes embedding models, also two behind the same name."""

    name: str
    probe: Vector
    """The unit vector of PROBE, shape (D,)."""

    def is_same(self, other: ModelIdentity) -> bool:
        """Return whether vectors of both may be compared."""
        return (
            self.name == other.name
            and self.probe.shape == other.probe.shape
            and float(self.probe @ other.probe) >= SAME_MODEL_COSINE
        )


class VectorStore(Protocol):
    """The vectors of the texts of one memory, of one model at a time. It holds no text: see `digest_of`.

    Two objects for the same memory are equal and have the same hash. A failure is logged, not raised: the texts are
    embedded again.
    """

    def __hash__(self) -> int: ...

    def load(self, model: ModelIdentity, digests: Collection[str]) -> Mapping[str, Vector]:
        """Return the unit vectors, shape (D,), of those of *digests* that *model* embedded."""
        ...

    def save(self, model: ModelIdentity, vectors: Mapping[str, Vector]) -> None:
        """Store *vectors* by digest, and delete those of any other model. A deleted memory gets none."""
        ...

    def prune(self, digests: Collection[str]) -> None:
        """Delete all vectors but those of *digests*."""
        ...


def digest_of(text: str) -> str:
    """Return the sha256 of *text*, in hex. Unpaired surrogates count as U+FFFD."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
