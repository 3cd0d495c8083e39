"""Settings: every key of `memgraph.yaml`, with its range and unit. `memgraph.config` loads them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, ValidationInfo, field_validator

from memgraph._validation import AllowedValues
from memgraph.analysis.dates import TimezoneName
from memgraph.fields import ChoiceLabels, NoBooleanNumbers
from memgraph.policy import Policy, Review, ReviewBy
from memgraph.prompts.json_text import StructuredOutput
from memgraph.retrieval.embedding_config import choose_embedding


def _as_text(value: object) -> object:
    return os.fspath(value) if isinstance(value, Path) else value


TOKEN = "a text of 16 to 512 ASCII characters without spaces"  # noqa: S105 - a description

_TOKEN = re.compile(r"[!-~]{16,512}")


def _check_token(token: SecretStr) -> SecretStr:
    if not _TOKEN.fullmatch(token.get_secret_value()):
        raise ValueError(f"a token must be {TOKEN}, since it is sent in a header")
    return token


Secret = Annotated[SecretStr, AfterValidator(_check_token)]
Token = Annotated[Secret | None, AllowedValues(TOKEN)]
Tokens = Annotated[Mapping[str, Secret], AllowedValues(f"user ids, each with {TOKEN}, no two the same")]

OUTPUT_FORMATS = ChoiceLabels(
    auto="a JSON schema, unless the model refuses it",
    none="the prompt alone",
    json_schema="a JSON schema",
    function_calling="a tool call",
)
REVIEWS = ChoiceLabels(
    never="no approval is needed", corrections="corrections and removals need approval", always="every change does"
)
REVIEW_BY = ChoiceLabels(pending="it waits in the document", interrupt="the run is interrupted")


class Settings(Policy, NoBooleanNumbers):
    """Everything that can be configured, the policy included. Paths are relative to the working directory."""

    enabled: bool = True
    """False turns learning and recall off."""
    timezone: TimezoneName = "UTC"
    """The users' time zone, a name of the IANA database such as `Europe/Lisbon`: dates are shown in it."""

    # -- storage --
    storage_path: Annotated[str | None, BeforeValidator(_as_text)] = None
    """A folder, NAME.json, or a URL such as `sqlite:FILE`; default: the platform's user data folder, and on a LangGraph
    Server its PostgreSQL database."""
    storage_class: str | None = None
    """Dotted path of a custom MemoryStorage class; it is called with storage_path."""
    storage_fallback: bool = True
    """Whether to log an error and use file storage if storage_class cannot be loaded."""

    # -- learning in the background --
    outbox: Annotated[str | None, BeforeValidator(_as_text)] = None
    """The file that stores pending conversations; default: a file in the platform's user data folder, and the database
    of a LangGraph Server for memories in it."""
    debounce_seconds: Annotated[float, Field(ge=0, le=3_600)] = 30
    """Seconds of inactivity after which a conversation is processed."""
    max_wait_seconds: Annotated[float, Field(ge=0, le=86_400)] = 300
    """Maximum seconds an active conversation waits before it is processed."""
    max_concurrency: Annotated[int, Field(ge=1, le=64)] = 4
    """Maximum number of concurrent updates; updates of the same memory run one after another."""
    lease_seconds: Annotated[float, Field(ge=3, le=3_600)] = 30
    """Seconds after which another process takes over the jobs of a crashed one; renewed every third of that time."""
    max_queued: Annotated[int, Field(ge=1, le=1_000_000)] = 10_000
    """Maximum number of pending conversations, of which one user may have a tenth; further ones are rejected."""
    exit_seconds: Annotated[float, Field(ge=0, le=600)] = 10
    """Maximum seconds that a normal exit takes to learn from what is pending; 0 waits for nothing."""
    handle_sigterm: bool = True
    """Whether to install a handler that lets running updates finish if SIGTERM would kill the process."""

    upkeep_updates: Annotated[int, Field(ge=1, le=1_000_000)] = 50
    """Number of updates of a memory after which its upkeep runs in the background."""
    upkeep_days: Annotated[int, Field(ge=1, le=3_650)] = 7
    """Days after which the next update of a memory is followed by its upkeep, however few updates there were."""

    # -- the model --
    model_name: str | None = None
    """Such as `openai:gpt-4.1-mini`; default: an agent's own, else one whose provider has its key set, else offline."""
    model_params: Mapping[str, Any] = Field(default_factory=dict[str, Any])
    """Parameters of the model, such as `{temperature: 0.2, max_tokens: 1000}`. Without a temperature it is 0, unless
    the model refuses that."""
    structured_output: Annotated[StructuredOutput, OUTPUT_FORMATS] = "auto"
    """How the format of the model's answer is enforced: by the prompt alone, a JSON schema, or a tool call; `auto` is a
    JSON schema unless the model refuses it."""
    prompt_path: Path | None = None
    """A file with instructions for the model; it replaces the built-in ones."""
    signals_dir: Path | None = None
    """A folder of signal files that extend or replace the built-in ones."""
    slots_dir: Path | None = None
    """A folder of slot files that extend or replace the built-in ones: what a person has one of at a time."""
    review: Annotated[Review, REVIEWS] = "never"
    """When a person must approve a change before it is saved: `never`, for `corrections` and removals, or `always`."""
    review_by: Annotated[ReviewBy, REVIEW_BY] = "pending"
    """How a person is asked: the change is `pending` in the document, or the run of a graph with a checkpointer is
    interrupted. Background updates never are."""

    # -- what a run over HTTP may choose --
    allowed_models: tuple[str, ...] = ()
    """Models that a run on LangGraph Server may choose, in addition to the configured one."""
    allowed_prompts: Mapping[str, Path] = Field(default_factory=dict[str, Path])
    """Files with instructions that a run on LangGraph Server may choose, by name; the run gives the name."""
    allowed_storages: Mapping[str, str] = Field(default_factory=dict[str, str])
    """Storages that a run on LangGraph Server may choose, by name; the run gives the name, not the URL."""

    # -- recall --
    injection_enabled: bool = True
    """False: memory is learned, but not injected into prompts."""
    max_injection_tokens: Annotated[int, Field(ge=100, le=100_000)] = 2_000
    """Maximum tokens of memory in a prompt, including tags and headings."""
    max_context_turns: Annotated[int, Field(ge=0, le=100)] = 3
    """Number of latest exchanges that facts are compared with; 0 ranks by confidence alone."""
    similarity_weight: Annotated[float, Field(ge=0, le=1)] = 0.9
    """Weight of a fact's similarity to the conversation in its rank."""
    confidence_weight: Annotated[float, Field(ge=0, le=1)] = 0.1
    """Weight of a fact's confidence in its rank."""
    guaranteed_share: Annotated[float, Field(ge=0, le=1)] = 0.25
    """Share of the tokens that is reserved for corrections and preferences."""
    ranker: str | None = None
    """Name of the ranker; default: `hybrid` with an embedding model, else `lexical`."""
    embedding: str | Mapping[str, Any] | None = "auto"
    """Embedding model, by which memory is found in other words: `auto`, which is `local` if its package is installed;
    `none`; `local`; `openai:MODEL`; or a mapping with `provider` and its keys."""

    # -- the HTTP API --
    api_token: Token = None
    """Token with access to every user's memory; default: none, except that `memgraph serve` generates one per run."""
    api_tokens: Tokens = Field(default_factory=dict[str, SecretStr])
    """Tokens by user id; each has access to the memory of that user only."""
    session_key: Token = None
    """Secret that signs the cookies of the page, as long and random as a token; default: a random one, kept with the
    outbox with mode 600. Several servers need the same."""
    api_max_body_bytes: Annotated[int, Field(ge=1_000, le=1_000_000_000)] = 10_000_000
    """Maximum bytes of a request body; larger requests are rejected."""
    api_backups: Annotated[str | None, BeforeValidator(_as_text)] = None
    """Folder for backups of memories that an import or audit changed; default: one per storage, with the user data."""

    # -- the MCP server --
    mcp_trust: bool = False
    """Whether what an MCP client quotes counts as the user's words: the server sees no conversation. If not, what its
    tools add has the origin `tool`, and what they would remove or replace is pending."""

    # -- attachable memories: top-level keys of the file --
    memories: tuple[Mapping[str, Any], ...] = ()
    """Memories that nodes can attach, each with name, type and config."""
    attachments: Mapping[str, Any] = Field(default_factory=dict[str, Any])
    """The memories attached to each node, by node name."""

    @field_validator("embedding")
    @classmethod
    def _check_embedding(cls, value: str | Mapping[str, Any] | None) -> str | Mapping[str, Any] | None:
        """Check the value, and keep it as written: it is parsed again when the model is made."""
        choose_embedding(value)
        return value

    @field_validator("api_tokens")
    @classmethod
    def _check_tokens_differ(cls, tokens: Mapping[str, SecretStr], info: ValidationInfo) -> Mapping[str, SecretStr]:
        """Check that each token identifies one user, or the administrator."""
        values = [token.get_secret_value() for token in (*tokens.values(), info.data.get("api_token")) if token]
        if len(set(values)) < len(values):
            raise ValueError("two users have the same token")
        return tokens

    @property
    def policy(self) -> Policy:
        """The settings that limit an update."""
        return Policy(**{name: getattr(self, name) for name in Policy.model_fields})
