"""Context: the values that a run may set, those of them that it may set over HTTP, and the defaults of a graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Self, cast

from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    InstanceOf,
    ModelWrapValidatorHandler,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic.json_schema import WithJsonSchema

from memgraph._validation import FieldError, field_errors, unknown_key
from memgraph.analysis.dates import TimezoneName, UtcTime
from memgraph.analysis.signals import Signals
from memgraph.analysis.slots import Slots
from memgraph.errors import ConfigError
from memgraph.policy import Policy, Review, ReviewBy
from memgraph.prompts.json_text import StructuredOutput
from memgraph.prompts.template import validate_instructions
from memgraph.storage import MemoryStorage

_SHOWN_CHARS = 40
_NOT_IN_FORMS = frozenset({"policy", "review_by", "stale_days", "categories", "sections"})
"""The limits of the policy are fields of their own, unless they are objects."""
_HIDDEN = frozenset({"storage"})  # its URL may hold a password


def flatten_schema(schema: dict[str, Any]) -> None:
    """Turn the JSON schema of a Context, in place, into one that a form can be drawn from."""
    fields: dict[str, Any] = schema["properties"]
    limits = Policy.model_json_schema()["properties"]
    schema["properties"] = {
        name: _flatten_field(field)
        for name, field in {**fields, **limits}.items()
        if name not in _NOT_IN_FORMS and field.get("type") != "null"  # which only code can set
    }


def fold_policy_fields(form: Mapping[str, Any]) -> dict[str, Any]:
    """Read a submitted form: drop empty fields and collect the policy's fields in `policy`."""
    values = {name: value for name, value in form.items() if value is not None and value != ""}
    policy = values.get("policy", {})
    policy = policy.model_dump(exclude_unset=True) if isinstance(policy, Policy) else policy
    limits = {name: values.pop(name) for name in Policy.model_fields if name in values}
    if limits and isinstance(policy, Mapping):
        values["policy"] = {**policy, **limits}
    return values


def to_config_error(error: ValidationError, known: Iterable[str]) -> ConfigError:
    """Return one error that lists every invalid field; *known* are the valid field names."""
    known = sorted(known)
    problems: dict[str, str] = {}
    for found in field_errors(error):
        # the parts after the field's name are the members of its union
        depth = 2 if found.loc[:1] == ("policy",) else 1
        name = ".".join(map(str, found.loc[:depth])) or "what is given"
        problems.setdefault(name, _describe(name, found, known))
    return ConfigError(f"context: {'; '.join(problems.values())}")


def _describe(name: str, error: FieldError, known: Iterable[str]) -> str:
    if error.type == "extra_forbidden":
        quoted = name if name.isprintable() and len(name) <= _SHOWN_CHARS else repr(name[:_SHOWN_CHARS])
        return str(unknown_key(name.rpartition(".")[2], quoted, known))
    return f"{name} {error.reason.replace('Input should', 'must')}{_actual_value(name, error.input)}"


def _actual_value(name: str, value: object) -> str:
    text = repr(value) if isinstance(value, str | int | float) else ""
    return f", not {text}" if text and len(text) <= _SHOWN_CHARS and name not in _HIDDEN else ""


def _flatten_field(field: Mapping[str, Any]) -> dict[str, Any]:
    """Replace the union with null by its other type: any field of a form may be left empty."""
    types = [schema for schema in field.get("anyOf", ()) if schema != {"type": "null"}]
    rest = {key: value for key, value in field.items() if key not in {"anyOf", "default"}}
    rest["description"] = " ".join(field["description"].split())
    return {**types[0], **rest} if types else rest


# -- what a run over HTTP may choose ----------------------------------------------------------------

_SERVER, _NEUTRAL, _LOWER, _HIGHER = "server", "neutral", "lower", "higher"
STRICTER: Mapping[str, str | tuple[object, ...]] = {
    # only the server sets them: texts of the instructions, and how much is kept of what was learned and said
    **dict.fromkeys(("categories", "sections", "profile", "stale_days"), _SERVER),
    **dict.fromkeys(("max_threads", "thread_mark_ids", "max_facts", "max_past_facts", "max_as_said"), _SERVER),
    **dict.fromkeys(("max_episodes", "episode_days", "history_days", "max_revisions"), _SERVER),
    # no check: how the work is cut and shown
    **dict.fromkeys(("prompt_language", "signal_turns", "summaries", "max_episode_chars"), _NEUTRAL),
    **dict.fromkeys(("context_turns", "batch_tokens", "max_turn_chars", "prompt_facts_tokens"), _LOWER),
    **dict.fromkeys(("max_fact_chars", "max_summary_tokens", "max_tool_writes", "max_races", "max_calls"), _LOWER),
    **dict.fromkeys(("model_tries", "model_timeout_seconds", "model_deadline_seconds"), _LOWER),
    "retry_wait_seconds": _LOWER,
    "fact_confidence_threshold": _HIGHER,
    # from the least strict value to the strictest
    "grounding": ("off", "lenient", "strict"),
    "verify": ("off", "auto"),
    "episodes": ("exchange", "user", "off"),
}
"""In which direction a field of the policy is stricter. A run over HTTP sets none that is missing here."""


@dataclass(frozen=True, slots=True)
class AllowedChoices:
    """What the strings of a run may name, in addition to what its graph uses anyway.

    A client that may start a run over HTTP is not trusted with the server's keys, files and hosts: a free choice of the
    model spends any key in the environment, a free prompt makes the model do other work, and a free storage reads and
    writes any path. Objects are not restricted, since they cannot come over HTTP.
    """

    models: tuple[str, ...] = ()
    """Names of models, such as `openai:gpt-4.1-mini`."""
    prompts: Mapping[str, str] = field(default_factory=dict[str, str])
    """Instructions by name; a run gives the name."""
    storages: Mapping[str, str] = field(default_factory=dict[str, str])
    """Storage URLs by name; a run gives the name, so that no password is sent."""

    def restrict(self, run: Context, defaults: Context) -> Context:
        """Return the context *run*, which came over HTTP, with names replaced by what they stand for.

        `enabled` is dropped if it would switch on a memory that *defaults* switch off.

        Raises:
            ConfigError: If it sets `review_by`, if a string in it is neither allowed nor the graph's own, in
                *defaults*, or if a field of the policy is less strict than the graph's, or only the server sets it.
        """
        if run.review_by not in (None, defaults.review_by):
            raise ConfigError("context: review_by cannot be set in a run over HTTP; it is set on the server")
        if run.policy:
            _check_policy(run.policy, defaults.policy or Policy())
        models = {name: name for name in (*self.models, defaults.model or "offline") if isinstance(name, str)}
        return run.model_copy(
            update={
                "model": _choose("model", run.model, models),
                "prompt": _choose("prompt", run.prompt, self.prompts),
                "storage": _choose("storage", run.storage, self.storages),
                "enabled": False if defaults.enabled is False else run.enabled,
            }
        )


def _check_policy(run: Policy, server: Policy) -> None:
    for name in sorted(run.model_fields_set):
        given, own = getattr(run, name), getattr(server, name)
        direction = STRICTER.get(name, _SERVER)
        if given == own or direction == _NEUTRAL:
            continue
        if direction == _SERVER:
            raise ConfigError(
                f"context: {name} cannot be set in a run over HTTP; it is set on the server, in memgraph.yaml"
            )
        if not _is_stricter(direction, given, own):
            raise ConfigError(
                f"context: {name} {given!r} is less strict than the server's {own!r}, and a run over HTTP can only be "
                "stricter; change it on the server, in memgraph.yaml"
            )


def _is_stricter(direction: str | tuple[object, ...], given: Any, own: Any) -> bool:  # noqa: ANN401
    if isinstance(direction, tuple):
        return direction.index(given) > direction.index(own)
    if given is None or own is None:  # no limit
        return own is None
    return (given < own) == (direction == _LOWER)


def _choose(field_name: str, value: object, allowed: Mapping[str, str]) -> object:
    """Return what *value* stands for; an object, or nothing, stands for itself."""
    if not isinstance(value, str) or not value:
        return value
    if value in allowed:
        return allowed[value]
    # only a short name is quoted: a longer text may be a prompt, and a URL may hold a password
    is_name = field_name != "storage" and len(value) <= _SHOWN_CHARS and value.isprintable()
    shown = f" {value!r}" if is_name else ""
    names = ", ".join(allowed) or "none"
    raise ConfigError(
        f"context: {field_name}{shown} is not allowed in a run over HTTP; allowed are: {names}. The setting "
        f"allowed_{field_name}s on the server names more"
    )


# -- the context --------------------------------------------------------------------------------------

_STRING = WithJsonSchema({"type": "string"})


def _split_names(value: object) -> object:
    return tuple(name for part in value.split(",") if (name := part.strip())) if isinstance(value, str) else value


class Context(BaseModel):
    """The settings of a run. Every field is optional: a missing one has the value that the graph was built with.

    Over HTTP, fields of the policy may also be given at the top level, as in `{"user_id": "ada", "max_facts": 50}`.
    Only the fields that a policy sets replace those of the graph.

    Raises:
        ConfigError: If a field is unknown, of the wrong type or out of range.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        arbitrary_types_allowed=True,
        use_attribute_docstrings=True,
        json_schema_extra=flatten_schema,
    )

    user_id: str | None = None
    """Whose memory. 'default' is the memory without a user. If the server has authenticated a user, that user is taken
    instead."""
    agent_name: str | None = None
    """The agent, if it has its own memory of the user: letters, digits, - and _, at most 64."""
    thread_id: str | None = None
    """The conversation, so that no message is learned from twice."""
    at: UtcTime | None = None
    """When the messages that have no time of their own were written, such as '2026-05-03T10:00:00Z'; without a zone it
    is UTC. By default, and if it is in the future: now."""
    user_names: Annotated[tuple[str, ...] | None, BeforeValidator(_split_names), _STRING] = None
    """Names of the user in addition to user_id, separated by commas. A human message with any other name is another
    speaker's: it is shown to the model, but not learned from as the user's words."""
    timezone: TimezoneName | None = None
    """The user's time zone, for dates that are shown, such as 'Europe/Lisbon'."""
    model: Annotated[str | InstanceOf[BaseChatModel] | None, _STRING] = Field(
        default=None,
        json_schema_extra={"langgraph_nodes": ["call_model"]},  # where Studio shows it
    )
    """A chat model, such as 'offline' or 'openai:gpt-4.1-mini'. Over HTTP: one that the setting allowed_models of the
    server names."""
    prompt: str | None = Field(default=None, json_schema_extra={"langgraph_nodes": ["build_prompt"]})
    """Instructions for the model, instead of the built-in ones. They must ask for a JSON object with the key newFacts;
    as YAML, they may have examples. Over HTTP: the name of one in the server's setting allowed_prompts."""
    model_params: Annotated[Mapping[str, Any] | None, WithJsonSchema({"type": "null"})] = None
    """Parameters of a model that is given by name. Only those in the defaults of a graph count."""
    structured_output: StructuredOutput | None = None
    """How the model is made to answer in the expected JSON shape."""
    review: Review | None = None
    """When a person must approve what is learned. A run can be stricter than its graph, not less strict."""
    review_by: ReviewBy | None = None
    """How a person is asked: 'pending' in the document, or by an 'interrupt' of the run. It cannot be set over HTTP."""
    storage: Annotated[str | InstanceOf[MemoryStorage] | None, _STRING] = None
    """Where memories are stored, such as 'file:DIR' or 'sqlite:FILE'. Over HTTP: the name of one in the server's
    setting allowed_storages; an authenticated user cannot set it."""
    enabled: bool | None = None
    """False: this run neither learns nor recalls anything."""
    policy: Policy | None = None
    """The limits of a memory update."""
    signals: Annotated[InstanceOf[Signals] | None, WithJsonSchema({"type": "null"})] = None
    """Patterns in user messages that hint at what to learn."""
    slots: Annotated[InstanceOf[Slots] | None, WithJsonSchema({"type": "null"})] = None
    """What a person has one of at a time."""
    embeddings: Annotated[InstanceOf[Embeddings] | None, WithJsonSchema({"type": "null"})] = None
    """An embedding model, which makes the vectors of what is saved. Only the one in the defaults of a graph counts."""
    checks_folder: Annotated[InstanceOf[Path] | None, WithJsonSchema({"type": "null"})] = None
    """Folder that stores which models can check what an update adds. Only the one in the defaults of a graph counts."""
    allowed: Annotated[InstanceOf[AllowedChoices] | None, WithJsonSchema({"type": "null"})] = None
    """What runs over HTTP may choose. Only the one in the defaults of a graph counts."""

    @field_validator("prompt")
    @classmethod
    def _check_prompt(cls, prompt: str | None) -> str | None:
        return validate_instructions(prompt, source="prompt") if prompt else None

    @model_validator(mode="wrap")
    @classmethod
    def _read_form(cls, value: object, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Raise a ConfigError instead of pydantic's error, which may quote a secret and addresses programmers."""
        try:
            return handler(
                fold_policy_fields(cast("Mapping[str, Any]", value)) if isinstance(value, Mapping) else value
            )
        except ValidationError as error:
            raise to_config_error(error, {*cls.model_fields, *Policy.model_fields}) from None

    def merge(self, other: Context) -> Context:
        """Return a copy in which every field that *other* sets replaces the one here."""
        return self.model_copy(update={name: value for name, value in other if value is not None})


@dataclass(frozen=True)
class UserContext:
    """Whose memory an agent uses in a run: the `context_schema` of `create_agent`, if it needs nothing else.

    Any other class with a `user_id`, and perhaps an `agent_name` and a `thread_id`, does as well.
    """

    user_id: str
    """1-256 characters."""
    agent_name: str | None = None
    """The agent, if it has its own memory of the user."""


class SubmittedContext(Context):
    """A context that arrived as plain data, as every context does that comes over HTTP.

    The graphs declare it as the schema of their context: LangGraph makes one from a mapping, and passes on a `Context`
    that code has built. So its type shows whether its strings can be trusted.
    """

    model_config = ConfigDict(title="Context")

    @field_validator("prompt")
    @classmethod
    def _check_prompt(cls, prompt: str | None) -> str | None:
        """Accept any text: it is a name, which is looked up in the allowed prompts."""
        return prompt
