"""AllowedChoices: the models, prompts and storages that a run over HTTP may choose by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from memgraph.errors import ConfigError
from memgraph.policy import Policy

if TYPE_CHECKING:
    from memgraph.context.context import Context

_SHOWN_CHARS = 40
_SERVER, _NEUTRAL, _LOWER, _HIGHER = "server", "neutral", "lower", "higher"
STRICTER: Mapping[str, str | tuple[object, ...]] = MappingProxyType(
    {
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
)
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
