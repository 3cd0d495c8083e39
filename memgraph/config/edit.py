"""Sets one key of `memgraph.yaml`, and leaves every other character of the file as it is, comments included."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from memgraph.errors import ConfigError

if TYPE_CHECKING:
    from yaml.nodes import Node

SECTION = "memory"


def set_in_file(path: Path, name: str, value: str) -> None:
    """Set the key `memory.NAME` in the YAML file at *path*, which is created if it does not exist.

    Raises:
        ConfigError: If the file cannot be read or written, or its form does not allow to change a single key.
    """
    import yaml

    target = path.resolve()  # a link stays one
    try:
        text = target.read_bytes().decode("utf-8-sig") if target.exists() else ""
        before: Any = yaml.safe_load(text) or {}
        changed = _with_key(text, name, yaml.safe_dump(value, width=10_000).removesuffix("...\n").strip())
        if yaml.safe_load(changed) != {**before, SECTION: {**(before.get(SECTION) or {}), name: value}}:
            raise ConfigError(f"{path} has a form that is not changed automatically: set memory.{name}: {value} there")
        _replace(target, changed.encode())
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be changed: {getattr(error, 'strerror', None) or error}") from error
    except (yaml.YAMLError, TypeError, AttributeError) as error:  # TypeError: the file is a list, or its section is
        raise ConfigError(f"{path} cannot be changed: it is not a valid memgraph.yaml") from error


def _with_key(text: str, name: str, value: str) -> str:
    """Return *text* with the key in its section, both added if they are missing."""
    import yaml

    root = cast("Node | None", yaml.compose(text, yaml.SafeLoader))  # pyright: ignore[reportUnknownMemberType]
    section = _find(root, SECTION)
    if section is None:
        end = "" if not text or text.endswith("\n") else "\n"
        return f"{text}{end}{SECTION}:\n  {name}: {value}\n"
    old = _find(section, name)
    if old is not None:
        is_empty = old.start_mark.index == old.end_mark.index
        return _splice(text, old.start_mark.index, old.end_mark.index, f" {value}" if is_empty else value)
    start, end = section.start_mark.index, section.end_mark.index
    if not isinstance(section, yaml.MappingNode):  # `memory:` without a value
        return _splice(text, start, end, f"\n  {name}: {value}")
    if not section.value:
        return _splice(text, start, end, f"{{{name}: {value}}}")
    first = section.value[0][0].start_mark
    separator = ", " if section.flow_style else f"\n{' ' * first.column}"
    return _splice(text, first.index, first.index, f"{name}: {value}{separator}")


def _find(node: Node | None, key: str) -> Node | None:
    """Return the value of *key* in a mapping; None if there is no such mapping or key."""
    import yaml

    pairs = cast("list[tuple[Node, Node]]", node.value) if isinstance(node, yaml.MappingNode) else []
    return next((value for name, value in pairs if name.value == key), None)


def _splice(text: str, start: int, end: int, replacement: str) -> str:
    return text[:start] + replacement + text[end:]


def _replace(path: Path, data: bytes) -> None:
    """Replace the file atomically; its permissions stay."""
    staged = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        staged.write_bytes(data)
        if path.exists():
            shutil.copymode(path, staged)
        staged.replace(path)
    finally:
        staged.unlink(missing_ok=True)
