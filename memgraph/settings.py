"""Settings: every key of `memgraph.yaml`, with its range and unit. It reads no file and no environment."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, ValidationInfo, field_validator

from memgraph.fields import ChoiceLabels
from memgraph.policy import Policy, Review
from memgraph.prompts.schema import StructuredOutput
from memgraph.retrieval.embeddings import config_of


def _as_text(value: object) -> object:
    return os.fspath(value) if isinstance(value, Path) else value


TOKEN = "a text of 16 to 512 ASCII characters without spaces"  # noqa: S105 - says what one is

_TOKEN = re.compile(r"[!-~]{16,512}")


def _sendable(token: SecretStr) -> SecretStr:
    if not _TOKEN.fullmatch(token.get_secret_value()):
        raise ValueError(f"a token is {TOKEN}: a header has to carry it")
    return token


Secret = Annotated[SecretStr, AfterValidator(_sendable)]
Token = Annotated[Secret | None, Field(description=TOKEN)]
Tokens = Annotated[Mapping[str, Secret], Field(description=f"user ids, each with {TOKEN}, no two the same")]

SHAPES = ChoiceLabels(none="the prompt alone", json_schema="a JSON schema", function_calling="a tool call")
REVIEWS = ChoiceLabels(never="nobody is asked", corrections="to corrections and removals", always="to everything")


class Settings(Policy):
    """What can be configured: the policy of an update, and all around it. Paths are relative to the working folder."""

    enabled: bool = True
    """False: nothing is learned and nothing is recalled."""

    # -- where memories are kept --
    storage_path: Annotated[str | None, BeforeValidator(_as_text)] = None
    """A folder, NAME.json, or a URL such as `sqlite:FILE`; none is the platform's folder for user data."""
    storage_class: str | None = None
    """Dotted path of a MemoryStorage of your own; it is called with storage_path."""
    storage_fallback: bool = True
    """Whether files take over, and an error is logged, where storage_class cannot be loaded."""

    # -- learning in the background --
    outbox: Annotated[str | None, BeforeValidator(_as_text)] = None
    """The file that holds waiting conversations; none is one in the platform's folder for user data."""
    debounce_seconds: Annotated[float, Field(ge=0, le=3_600)] = 30
    """Quiet seconds after which a conversation is learned from."""
    max_wait_seconds: Annotated[float, Field(ge=0, le=86_400)] = 300
    """Seconds after which it is learned from although it goes on."""
    max_concurrency: Annotated[int, Field(ge=1, le=64)] = 4
    """Updates at once, never two for one memory."""
    lease_seconds: Annotated[float, Field(ge=3, le=3_600)] = 30
    """Seconds after which another process takes over the work of one that died; a lease is renewed at a third of it."""
    max_queued: Annotated[int, Field(ge=1, le=1_000_000)] = 10_000
    """Conversations that may wait; one more is refused."""

    # -- the model --
    model_name: str | None = None
    """Such as `openai:gpt-4.1-mini`; none is the provider whose key is set, else the built-in `offline` one."""
    structured_output: Annotated[StructuredOutput, SHAPES] = "none"
    """How the model is held to the answer's shape: by the prompt alone, a JSON schema, or a tool call."""
    prompt_path: Path | None = None
    """A file with instructions to the model, in place of the packaged ones."""
    signals_dir: Path | None = None
    """A folder of signal files that extend or replace the packaged ones."""
    review: Annotated[Review, REVIEWS] = "never"
    """When a person has to agree before something is learned: `never`, to `corrections` and removals, or `always`."""

    # -- recall --
    injection_enabled: bool = True
    """False: memory is learned, but not put into prompts."""
    max_injection_tokens: Annotated[int, Field(ge=100, le=100_000)] = 2_000
    """Tokens of memory in a prompt, tags and framing counted."""
    max_context_turns: Annotated[int, Field(ge=0, le=100)] = 3
    """Last exchanges that recall compares facts with; 0 ranks by confidence alone."""
    similarity_weight: Annotated[float, Field(ge=0, le=1)] = 0.6
    """How much the similarity of a fact to the conversation counts in its rank."""
    confidence_weight: Annotated[float, Field(ge=0, le=1)] = 0.4
    """How much the confidence of a fact counts in its rank."""
    guaranteed_share: Annotated[float, Field(ge=0, le=1)] = 0.25
    """Share of the tokens that corrections and preferences are sure of."""
    ranker: str | None = None
    """Name of the ranker; none is the default one."""
    embedding: str | Mapping[str, Any] | None = None
    """The embedding model that recall ranks by, besides words: `local`, `openai:MODEL`, or provider and its keys."""

    # -- the HTTP API --
    api_token: Token = None
    """Who shows it may act for every user; none: nobody may, but for `memgraph serve`, which makes one for each run."""
    api_tokens: Tokens = Field(default_factory=dict[str, SecretStr])
    """By user id, a token that may act for this user alone."""
    api_max_body_bytes: Annotated[int, Field(ge=1_000, le=1_000_000_000)] = 10_000_000
    """Bytes of the longest request; a longer one is refused."""
    api_backups: Annotated[str | None, BeforeValidator(_as_text)] = None
    """The folder for what an import replaced; none is one in the platform's folder for user data."""

    # -- attachable memories, keys of the file's root --
    memories: tuple[Mapping[str, Any], ...] = ()
    """Memories that nodes may attach: name, type, config."""
    attachments: Mapping[str, Any] = Field(default_factory=dict[str, Any])
    """By node, what is attached to it."""

    @field_validator("embedding")
    @classmethod
    def _check_embedding(cls, value: str | Mapping[str, Any] | None) -> str | Mapping[str, Any] | None:
        """It stays as it is written, and is read again where a model is made of it."""
        if value is not None:
            config_of(value)
        return value

    @field_validator("*", mode="before")
    @classmethod
    def _keep_booleans_apart(cls, value: object, info: ValidationInfo) -> object:
        """Python counts True as 1; a setting does not."""
        kind = cls.model_fields[info.field_name or ""].annotation
        if isinstance(value, bool) and kind is not bool:
            raise ValueError("a boolean is no number and no text")
        return value

    @field_validator("api_tokens")
    @classmethod
    def _are_different(cls, tokens: Mapping[str, SecretStr], info: ValidationInfo) -> Mapping[str, SecretStr]:
        """A token stands for one user, or for all."""
        every: list[SecretStr | None] = [*tokens.values(), info.data.get("api_token")]
        if len({token.get_secret_value() for token in every if token}) < sum(token is not None for token in every):
            raise ValueError("two users have the same token")
        return tokens

    @property
    def policy(self) -> Policy:
        """The part that limits an update."""
        return Policy(**{name: getattr(self, name) for name in Policy.model_fields})
