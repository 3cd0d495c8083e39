"""A `memgraph.yaml` with everything there is in it, each key with what it means, its range and its default."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from memgraph.attachments.config import MemoryAttachment
from memgraph.attachments.registry import MEMORY_TYPES
from memgraph.config.sources import ROOT_KEYS
from memgraph.fields import FieldSpec
from memgraph.settings import Settings

WIDTH = 110
OPENING = """\
# memgraph.yaml: everything that can be configured. As it stands it changes nothing: every key has its default.
# MEMGRAPH_NAME in the environment goes before a key of `memory:`; ${VAR} in a text is read from the environment.
"""
MEMORIES = """
# Memories that nodes may attach, each with a name, a type, and what that type wants to know. To use one, take the
# `# ` from its lines, and the [] from this one.
memories: []
"""
ATTACHMENTS = """
# Which node uses which memories: the name of a node, and a list of names, or of entries that say more. To use it,
# take the `# ` from the lines, and the {} from this one.
attachments: {}
"""


def template() -> str:
    """Return it. Read as a configuration, it says nothing but the defaults."""
    settings = [spec for spec in Settings.field_specs() if spec.name not in ROOT_KEYS]
    parts = [
        OPENING,
        "\nmemory:\n",
        *(f"{line}\n" for line in _keys(settings, {}, "  ")),
        MEMORIES,
        *(f"# {line}\n" if line else "\n" for line in _memories()),
        ATTACHMENTS,
        *(f"# {line}\n" for line in _attachment()),
    ]
    return "".join(parts)


def _memories() -> Iterator[str]:
    """One of each type. What is inside an embedding model is told at the first."""
    told: frozenset[str] = frozenset()
    for kind in MEMORY_TYPES.values():
        specs = kind.config_cls.field_specs()
        yield ""
        yield from _wrapped(kind.summary, "  ")
        yield f"  - name: {kind.name}"
        yield f"    type: {kind.name}"
        yield "    config:"
        yield from _keys(specs, kind.example, "      ", told=told)
        told |= {spec.name for spec in specs if spec.fields}


def _attachment() -> Iterator[str]:
    yield "  answer:"
    lines = list(_keys(MemoryAttachment.field_specs(), {"name": "simple"}, "      "))
    yield f"    - {lines[1].strip()}"
    yield from lines[2:]


def _keys(
    specs: Sequence[FieldSpec], example: Mapping[str, object], indent: str, *, told: AbstractSet[str] = frozenset()
) -> Iterator[str]:
    for spec in specs:
        yield from _wrapped(_told(spec), indent)
        for part in _flat(spec.fields) if spec.name not in told else ():
            yield from _wrapped(_told(part, name=True), f"{indent}  ")
        yield f"{indent}{_pair(spec.name, example.get(spec.name, spec.default))}"


def _flat(specs: Sequence[FieldSpec], inside: str = "") -> Iterator[FieldSpec]:
    """The fields of an object; in place of an object in it, its fields by their paths."""
    for spec in specs:
        path = f"{inside}{spec.name}"
        if spec.fields:
            yield from _flat(spec.fields, f"{path}.")
        else:
            yield spec.model_copy(update={"name": path})


def _told(spec: FieldSpec, *, name: bool = False) -> str:
    """What a field is: the help, what it may be, and where it is shown by its name alone, the default."""
    facts = [_range(spec)]
    if spec.required:
        facts.append("required")
    elif name:
        facts.append(f"default {_value(spec.default)}")
    return f"{f'{spec.name}: ' if name else ''}{spec.help} [{', '.join(facts)}]"


def _range(spec: FieldSpec) -> str:
    if spec.choices:
        said = (f"{choice.value} ({choice.summary})" if choice.summary else choice.value for choice in spec.choices)
        return f"{'any' if spec.type == 'array' else 'one'} of: {'; '.join(said)}"
    low, high = spec.minimum, spec.maximum
    return spec.type if low is None or high is None else f"{spec.type} from {low:,} to {high:,}"


def _pair(key: str, value: object) -> str:
    return f"{key}: {_value(value)}"


def _value(value: object) -> str:
    """A value on one line, as YAML."""
    import yaml

    written = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, width=10_000)
    return written.removesuffix("...\n").strip()


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=f"{indent}# ", subsequent_indent=f"{indent}# ")
