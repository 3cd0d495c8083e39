"""Lists what an installation brings and under which licences. As a script, it exits with 1 for strong copyleft."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from email.message import Message
from importlib.metadata import Distribution, distribution
from pathlib import Path

from markdown_table import escape, table
from packaging.requirements import Requirement

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"
_STRONG_COPYLEFT = re.compile(r"\bA?GPL|GNU (?:Affero )?General Public", re.IGNORECASE)


def render_licences() -> Iterator[str]:
    """Yield a table of every package that the core depends on, directly or through another one."""
    licences = read_licences()
    yield from table("package | licence", ((name, escape(licence)) for name, licence in licences.items()))


def read_licences() -> Mapping[str, str]:
    """Return the licence of each package by its name, in alphabetical order."""
    requirements = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]["dependencies"]
    found = {each.name: find_licence(each.metadata) for each in find_packages(requirements)}  # type: ignore[arg-type]
    return dict(sorted(found.items(), key=lambda item: item[0].lower()))


def find_packages(requirements: Iterable[str]) -> Iterator[Distribution]:
    """Yield each installed package of *requirements* and of what they need, on this Python and this platform."""
    pending, found, seen = [*map(Requirement, requirements)], set[str](), set[tuple[str, str]]()
    while pending:
        requirement = pending.pop()
        package = distribution(requirement.name)
        if package.name not in found:
            found.add(package.name)
            yield package
        extras = {(package.name, extra) for extra in ("", *requirement.extras)} - seen
        seen |= extras
        pending += [
            needed
            for needed in map(Requirement, package.requires or ())
            if any(needed.marker is None or needed.marker.evaluate({"extra": extra}) for _, extra in extras)
        ]


def find_licence(metadata: Message) -> str:
    """Return the licence that a package declares: in one line, whichever of the three ways it chose."""
    declared = metadata.get("License", "").strip()
    classifiers = [each.split(" :: ")[-1] for each in metadata.get_all("Classifier", []) if "License ::" in each]
    one_line = declared if "\n" not in declared else ""
    return metadata.get("License-Expression") or one_line or " AND ".join(classifiers) or declared.partition("\n")[0]


def is_strong_copyleft(licence: str) -> bool:
    """Return whether a part of *licence* is GPL or AGPL with no other one to choose; LGPL is weak."""
    parts = (re.split(r"\bOR\b|[|/]", part) for part in re.split(r"\bAND\b", licence))
    return any(all(_STRONG_COPYLEFT.search(choice) for choice in part) for part in parts)


def main() -> int:
    licences = read_licences()
    strong = {name: licence for name, licence in licences.items() if is_strong_copyleft(licence)}
    sys.stdout.write(f"{len(licences)} packages; strong copyleft: {strong or 'none'}\n")
    return 1 if strong else 0


if __name__ == "__main__":
    sys.exit(main())
