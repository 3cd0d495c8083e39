"""Template of `memgraph.yaml`: every key with its meaning, range and default, generated from the field specs."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from memgraph.attachments.registry import MEMORY_TYPES
from memgraph.attachments.store import MemoryAttachment
from memgraph.config.sources import ROOT_KEYS
from memgraph.fields import FieldSpec
from memgraph.settings import Settings

WIDTH = 110
HEADER = """\
# memgraph.yaml: all configuration keys, set to their defaults.
# MEMGRAPH_<KEY> in the environment overrides a key of `memory:`; ${VAR} in a value is read from the environment.
"""
MEMORIES = """
# Memories that nodes can attach, each with a name, a type, and the options of that type. To use one, uncomment its
# lines and remove the [] below.
memories: []
"""
ATTACHMENTS = """
# Memories attached to each node: the name of a node, and a list of memory names, or of entries with options. To use
# it, uncomment the lines and remove the {} below.
attachments: {}
"""


def render_template() -> str:
    """Return the template. Loaded as a configuration, it gives the defaults."""
    settings = [spec for spec in Settings.field_specs() if spec.name not in ROOT_KEYS]
    parts = [
        HEADER,
        "\nmemory:\n",
        *(f"{line}\n" for line in _format_keys(settings, {}, "  ")),
        MEMORIES,
        *(f"# {line}\n" if line else "\n" for line in _format_memories()),
        ATTACHMENTS,
        *(f"# {line}\n" for line in _format_attachment()),
    ]
    return "".join(parts)


def _format_memories() -> Iterator[str]:
    """Yield an example of each type; the options of an embedding model are explained once."""
    explained: frozenset[str] = frozenset()
    for kind in MEMORY_TYPES.values():
        specs = kind.config_cls.field_specs()
        yield ""
        yield from _wrap_comment(kind.summary, "  ")
        yield from (f"  - name: {kind.name}", f"    type: {kind.name}", "    config:")
        yield from _format_keys(specs, kind.example, "      ", explained=explained)
        explained |= {spec.name for spec in specs if spec.fields}


def _format_attachment() -> Iterator[str]:
    yield "  answer:"
    lines = list(_format_keys(MemoryAttachment.field_specs(), {"name": "simple"}, "      "))
    yield f"    - {lines[1].strip()}"
    yield from lines[2:]


def _format_keys(
    specs: Sequence[FieldSpec], example: Mapping[str, object], indent: str, *, explained: AbstractSet[str] = frozenset()
) -> Iterator[str]:
    for spec in specs:
        yield from _wrap_comment(_describe(spec), indent)
        for part in _flatten(spec.fields) if spec.name not in explained else ():
            yield from _wrap_comment(_describe(part, name=True), f"{indent}  ")
        yield f"{indent}{spec.name}: {_format_value(example.get(spec.name, spec.default))}"


def _flatten(specs: Sequence[FieldSpec], prefix: str = "") -> Iterator[FieldSpec]:
    """Yield the fields of an object, with nested fields named by their paths."""
    for spec in specs:
        path = f"{prefix}{spec.name}"
        if spec.fields:
            yield from _flatten(spec.fields, f"{path}.")
        else:
            yield spec.model_copy(update={"name": path})


def _describe(spec: FieldSpec, *, name: bool = False) -> str:
    """Describe a field: help, range, and the default if only its *name* is shown."""
    default = "required" if spec.required else f"default {_format_value(spec.default)}" if name else ""
    notes = ", ".join(filter(None, [_format_range(spec), default]))
    return f"{f'{spec.name}: ' if name else ''}{spec.help} [{notes}]"


def _format_range(spec: FieldSpec) -> str:
    if spec.choices:
        choices = (f"{choice.value} ({choice.summary})" if choice.summary else choice.value for choice in spec.choices)
        return f"{'any' if spec.type == 'array' else 'one'} of: {'; '.join(choices)}"
    low, high = spec.minimum, spec.maximum
    return spec.type if low is None or high is None else f"{spec.type} from {low:,} to {high:,}"


def _format_value(value: object) -> str:
    """Format a value as YAML, on one line."""
    import yaml

    text = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, width=10_000)
    return text.removesuffix("...\n").strip()


def _wrap_comment(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=f"{indent}# ", subsequent_indent=f"{indent}# ")
