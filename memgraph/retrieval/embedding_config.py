"""Which embedding model, as a configuration says it."""

from __future__ import annotations

import difflib
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, model_validator

from memgraph.errors import ConfigError
from memgraph.fields import Summaries, TellsFields

OPENAI_DEFAULT = "text-embedding-3-small"

_VALUES = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

PROVIDERS = Summaries(openai="a server that speaks as OpenAI does", local="in this process, with no network and no key")
STRATEGIES = Summaries(average="the mean of the pieces", weighted="their mean by length", first="the first piece")


class EmbeddingParams(TellsFields, BaseModel):
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


class EmbeddingConfig(TellsFields, BaseModel):
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
        problem = error.errors(include_url=False, include_input=False)[0]  # what pydantic says may quote a secret
    place = ".".join(["embedding", *map(str, problem["loc"])])
    if problem["type"] == "extra_forbidden":
        raise ConfigError(f"{place} is unknown; {_nearest(str(problem['loc'][-1]))}")
    raise ConfigError(f"{place}: {problem['msg'].removeprefix('Value error, ')}")


def _nearest(key: str) -> str:
    keys = [*EmbeddingConfig.model_fields, *(f"params.{name}" for name in EmbeddingParams.model_fields)]
    short = {name.removeprefix("params."): name for name in keys}
    near = difflib.get_close_matches(key.lower(), short, n=1)
    return f"did you mean {short[near[0]]}?" if near else f"there are: {', '.join(keys)}"
