"""AllowedChoices: the models, prompts and storages that a run over HTTP may choose by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memgraph.errors import ConfigError

if TYPE_CHECKING:
    from memgraph.context.context import Context

_SHOWN_CHARS = 40
_INSTRUCTIONS = frozenset({"categories", "sections", "profile"})
"""Fields of the policy whose texts are part of the prompt."""


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
            ConfigError: If a string in it is neither allowed nor the graph's own, in *defaults*, or if it sets what
                the model is instructed to look for.
        """
        if run.policy and (given := _INSTRUCTIONS & run.policy.model_fields_set):
            raise ConfigError(
                f"context: {', '.join(sorted(given))} cannot be set in a run over HTTP: the texts are part of the "
                "instructions; they are set on the server, in memgraph.yaml"
            )
        models = {name: name for name in (*self.models, defaults.model or "offline") if isinstance(name, str)}
        return run.model_copy(
            update={
                "model": _choose("model", run.model, models),
                "prompt": _choose("prompt", run.prompt, self.prompts),
                "storage": _choose("storage", run.storage, self.storages),
                "enabled": False if defaults.enabled is False else run.enabled,
            }
        )


def _choose(field_name: str, value: object, allowed: Mapping[str, str]) -> object:
    """Return what *value* stands for; an object, or nothing, stands for itself."""
    if not isinstance(value, str) or not value:
        return value
    if value in allowed:
        return allowed[value]
    raise ConfigError(_refusal(field_name, value, allowed))


def _refusal(field_name: str, value: str, allowed: Iterable[str]) -> str:
    # only a short name is quoted: a longer text may be a prompt, and a URL may hold a password
    is_name = field_name != "storage" and len(value) <= _SHOWN_CHARS and value.isprintable()
    shown = f" {value!r}" if is_name else ""
    names = ", ".join(allowed) or "none"
    return (
        f"context: {field_name}{shown} is not allowed in a run over HTTP; allowed are: {names}. The setting "
        f"allowed_{field_name}s on the server names more"
    )
