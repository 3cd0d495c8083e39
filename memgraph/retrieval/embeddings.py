"""Configuration of embedding models, checked calls of them, and a cache of the vectors of texts."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, model_validator

from memgraph._validation import field_errors, unknown_key
from memgraph.errors import ConfigError, EmbeddingError
from memgraph.fields import ChoiceLabels, FieldSpecMixin

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings


OPENAI_DEFAULT = "text-embedding-3-small"

_VALUES = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

PROVIDERS = ChoiceLabels(
    openai="a server that speaks as OpenAI does", local="in this process, with no network and no key"
)
STRATEGIES = ChoiceLabels(average="the mean of the pieces", weighted="their mean by length", first="the first piece")


class EmbeddingParams(FieldSpecMixin, BaseModel):
    """How texts are embedded."""

    model_config = _VALUES

    use_chunking: bool = True
    """Whether a text over max_length is embedded in pieces; if not, its end is left out."""
    chunk_strategy: Annotated[Literal["average", "weighted", "first"], STRATEGIES] = "average"
    """What stands for a text in pieces: their mean, their mean by length, or the first."""
    max_length: int = Field(default=2_000, ge=50, le=100_000)
    """Characters that are embedded at once. Texts are cut at sentence ends."""
    model_path: str | None = None
    """Folder of a sentence-transformers model, for the provider `local`."""


class EmbeddingConfig(FieldSpecMixin, BaseModel):
    """An embedding model. `openai:MODEL`, `local` and `local:FOLDER` say it in one word."""

    model_config = _VALUES

    provider: Annotated[Literal["openai", "local"], PROVIDERS]
    """`openai`: a server that speaks as OpenAI does. `local`: in this process, with no network and no key."""
    model: str = ""
    """Of the provider `openai`; none is text-embedding-3-small."""
    base_url: str | None = None
    """Of a server of your own, such as `http://localhost:8080/v1`."""
    api_key: SecretStr | None = None
    """Best written as `${OPENAI_API_KEY}`; none is what the environment says."""
    params: EmbeddingParams = EmbeddingParams()
    """How texts are embedded."""

    @model_validator(mode="before")
    @classmethod
    def _read_word(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        provider, _, rest = value.partition(":")
        if not rest:
            return {"provider": provider}
        return {"provider": provider, **({"params": {"model_path": rest}} if provider == "local" else {"model": rest})}

    @model_validator(mode="after")
    def _check_fit(self) -> EmbeddingConfig:
        """A key that would do nothing was meant to do something."""
        of_servers = {"model": self.model, "base_url": self.base_url, "api_key": self.api_key}
        if self.provider == "local" and (idle := [key for key, value in of_servers.items() if value]):
            raise ValueError(f"provider local takes no {' and no '.join(idle)}; params.model_path names its model")
        if self.provider != "local" and self.params.model_path:
            raise ValueError(f"params.model_path is of provider local, not of {self.provider}")
        return self

    @property
    def name(self) -> str:
        """What the vectors of this model are known by."""
        if self.provider == "local":
            return f"local:{self.params.model_path}" if self.params.model_path else "local"
        return f"{self.provider}:{self.model or OPENAI_DEFAULT}"


def config_of(given: object) -> EmbeddingConfig:
    """Read what stands under `embedding:`.

    Raises:
        ConfigError: If it is none, naming the key.
    """
    try:
        return EmbeddingConfig.model_validate(given)
    except ValidationError as error:
        problem = field_errors(error, root="embedding")[0]
    # raised outside the handler: pydantic's message may quote a secret
    if problem.type == "extra_forbidden":
        keys = [*EmbeddingConfig.model_fields, *(f"params.{name}" for name in EmbeddingParams.model_fields)]
        raise unknown_key(str(problem.loc[-1]), problem.path, keys)
    raise ConfigError(f"{problem.path}: {problem.reason}")


Vector = NDArray[np.float32]

MAX_VECTORS = 20_000
BATCH = 256
"""Texts that are embedded in one call."""
PAUSE_SECONDS = 30.0
"""After a failure the model is not called for so long, so that not every recall waits for a server that is down."""


def call_model(
    embed: Callable[[], list[list[float]]],
    count: int,
    *,
    name: str = "",
    retry: Callable[[Callable[[], Vector]], Vector] = lambda call: call(),
) -> Vector:
    """Return the *count* unit vectors that *embed* returns, shape (count, D).

    Args:
        embed: Calls the model.
        count: The number of texts.
        name: Of the model, for errors.
        retry: Runs its argument, as often as it likes; without it the model is called once.

    Raises:
        EmbeddingError: If the model fails, or returns anything but *count* vectors.
    """
    try:
        return retry(lambda: normalize(embed(), count))
    except EmbeddingError:
        raise
    except Exception as error:  # the model is the user's own: it may raise anything
        label = f"the embedding model {name}".rstrip()
        raise EmbeddingError(f"{label} did not answer: {type(error).__name__}: {error}") from error


class CircuitBreaker:
    """Fails fast for PAUSE_SECONDS after an embedding model has failed.

    Args:
        name: Of the model, for errors.
        clock: Seconds that only grow; None is `time.monotonic`.
    """

    def __init__(self, name: str = "", clock: Callable[[], float] | None = None) -> None:
        self._label = f"the embedding model {name}".rstrip()
        self._clock = clock
        self._resume_at = -np.inf

    def call(self, embed: Callable[[], Vector]) -> Vector:
        """Return what *embed* returns.

        Raises:
            EmbeddingError: If it fails, or failed within the last PAUSE_SECONDS.
        """
        if self._now() < self._resume_at:
            raise EmbeddingError(f"{self._label} failed a moment ago and is not called for {PAUSE_SECONDS:.0f} seconds")
        try:
            return embed()
        except EmbeddingError:
            self._resume_at = self._now() + PAUSE_SECONDS
            raise

    def _now(self) -> float:
        return self._clock() if self._clock else time.monotonic()

    def reset(self) -> None:
        """Allow calls again: the model has answered."""
        self._resume_at = -np.inf


class EmbeddingCache:
    """What an embedding model makes of texts.

    Args:
        embeddings: Any LangChain Embeddings.
        keep: How many vectors of facts are kept, the last used ones.
    """

    def __init__(self, embeddings: Embeddings, *, keep: int = MAX_VECTORS) -> None:
        self.embeddings = embeddings
        self._keep = keep
        self._vectors: OrderedDict[str, Vector] = OrderedDict()
        self._lock = threading.Lock()
        self._breaker = CircuitBreaker()

    def of_texts(self, texts: Sequence[str]) -> Vector:
        """Return the unit vectors of *texts*, shape (N, D).

        Raises:
            EmbeddingError: If the model fails, or failed within the last PAUSE_SECONDS.
        """
        with self._lock:
            known = {text: self._vectors[text] for text in texts if text in self._vectors}
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        for start in range(0, len(missing), BATCH):
            batch = missing[start : start + BATCH]
            known.update(zip(batch, self._embedded(batch), strict=True))
        self._remember(known)
        return np.stack([known[text] for text in texts]) if texts else np.zeros((0, 0), np.float32)

    def of_query(self, text: str) -> Vector:
        """Return the unit vector of a question, shape (D,).

        Raises:
            EmbeddingError: If the model fails, or failed within the last PAUSE_SECONDS.
        """
        return self._breaker.call(lambda: call_model(lambda: [self.embeddings.embed_query(text)], 1))[0]

    def _embedded(self, texts: list[str]) -> Vector:
        return self._breaker.call(lambda: call_model(lambda: self.embeddings.embed_documents(texts), len(texts)))

    def _remember(self, known: dict[str, Vector]) -> None:
        with self._lock:
            for text, vector in known.items():
                self._vectors[text] = vector
                self._vectors.move_to_end(text)
            while len(self._vectors) > self._keep:
                self._vectors.popitem(last=False)


def normalize(vectors: list[list[float]], count: int) -> Vector:
    """Return *vectors* at length 1.

    Raises:
        ValueError: If they are not *count* vectors of one size, finite and not zero.
    """
    array = np.array(vectors, dtype=np.float32)
    if array.ndim != 2 or len(array) != count:  # noqa: PLR2004 - rows and columns
        raise ValueError(f"{count} vectors of one size were asked for, and an array of shape {array.shape} came")
    lengths = np.linalg.norm(array, axis=1, keepdims=True)
    if not (np.isfinite(lengths).all() and lengths.all()):
        raise ValueError("a vector is zero, or not finite")
    return array / lengths
