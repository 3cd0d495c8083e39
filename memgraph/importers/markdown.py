"""Markdown: read from notes such as AGENTS.md and CLAUDE.md, and written by `memgraph export --format markdown`.

Each bullet and each paragraph is a fact. The heading above it is its topic: a category, or words that the fact begins
with.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from memgraph.analysis.normalize import single_line
from memgraph.errors import EditError
from memgraph.importers.documents import CATEGORY_ALIASES, ExportDocument, FactCollector, ImportResult
from memgraph.models import CATEGORIES, MANUAL, SECTIONS, MemoryDocument, Section, SectionName
from memgraph.policy import Policy

CONFIDENCE = 1.0
"""A person wrote the text, and is sure of it."""

_BULLET = re.compile(r"^([ \t]*+)(?:[-*+]|[0-9]{1,9}[.)])[ \t]++(\S.*)$")
_HEADING = re.compile(r"^ {0,3}(#{1,6})(?:[ \t]++(.*))?$")
_CLOSING_HASHES = re.compile(r"(?<![ \t])[ \t]++#++[ \t]*+$")
_FACTS = re.compile(r"^Facts \(([^()]{1,64})\)$")
_SUMMARY = re.compile(r"^Summary \(([^()]{1,64})\)$")
"""The heading of a custom summary."""
_ESCAPED = re.compile(r"^\\++#")
_TO_ESCAPE = re.compile(r"^\\*+#")
_RULE_CHARACTERS = frozenset("-*_= ")


# -- writing --------------------------------------------------------------------------------------


def render_markdown(memory: MemoryDocument, policy: Policy) -> str:
    """Return the summaries and the current facts, by category, as Markdown that `read_markdown` reads.

    Line breaks in a fact become spaces. Past facts, evidence and dates are left out.
    """
    blocks = ["# Memory"]
    for name, section in memory.sections():
        if section.summary.strip():
            lines = section.summary.strip().split("\n")
            text = "\n".join(f"\\{line}" if _TO_ESCAPE.match(line) else line for line in lines)
            blocks += [f"## {_section_title(name)}", text]
    categories = [policy.category_of(fact) for fact in memory.facts]
    for category in dict.fromkeys((*policy.category_names, *categories)):
        facts = [fact for fact, own in zip(memory.facts, categories, strict=True) if own == category]
        if facts:
            blocks += [f"## Facts ({category})", "\n".join(f"- {single_line(fact.content)}" for fact in facts)]
    return "\n\n".join(blocks) + "\n"


def _section_title(name: SectionName) -> str:
    return name.replace("_", " ").capitalize() if name in SECTIONS else f"Summary ({name})"


def _section_of(title: str) -> SectionName | None:
    """Return the name of the summary that has *title*; None if it is another heading."""
    if custom := _SUMMARY.match(title):
        return custom[1]
    name = title.casefold().replace(" ", "_")
    return name if name in SECTIONS else None


# -- reading --------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Reader:
    """The place in a document: what is above the line that is read."""

    collector: FactCollector
    prefix: str = ""
    category: str | None = None
    section: SectionName | None = None
    fence: str = ""
    after_blank: bool = False
    pending: list[str] = field(default_factory=list[str])
    """The lines of the fact, the summary or the block of code that is being read."""
    parents: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    """The indents and texts of the bullets above the one that is being read, and its own last."""
    summaries: dict[SectionName, str] = field(default_factory=dict["SectionName", str])

    def read_line(self, line: str) -> None:
        """Read the next line."""
        stripped = line.strip()
        if self.section and not line.startswith("#"):
            self.pending.append(line[1:] if _ESCAPED.match(line) else line)
        elif self.fence:
            self._read_code(stripped)
        elif not stripped:
            self.after_blank = True
        else:
            self._read_block(line, stripped)
            self.after_blank = False

    def _read_block(self, line: str, stripped: str) -> None:
        """Read a line outside of summaries and code."""
        if stripped.startswith(("```", "~~~")):
            self.end_item()
            self.fence = stripped[:3]
        elif heading := _HEADING.match(line):
            self._read_heading(len(heading[1]), _CLOSING_HASHES.sub("", heading[2] or "").strip())
        elif set(stripped) <= _RULE_CHARACTERS:
            self._read_rule(stripped)
        elif bullet := _BULLET.match(line.expandtabs(4)):
            self._read_bullet(len(bullet[1]), bullet[2].strip())
        elif stripped.startswith(("|", "<!--", "@")):
            self.end_item()
            self.collector.skip(stripped, "it is a table, a comment or a reference to another file")
        else:
            self._read_text(line, stripped)

    def end_item(self, *, has_children: bool = False) -> None:
        """Add the fact or the summary whose lines were read; not a bullet that only introduces those below it."""
        text, self.pending = "\n".join(self.pending).strip(), []
        if self.section:
            self.summaries.setdefault(self.section, text)
            return
        text = single_line(text)
        if self.parents and text:
            self.parents[-1] = (self.parents[-1][0], text)
        if text and not (has_children and text.endswith(":")):
            above = [parent for _, parent in self.parents[:-1] if parent.endswith(":")]
            topic = [f"{self.prefix.rstrip(':')}:"] if self.prefix else []
            self.collector.add(" ".join([*topic, *above, text]), {"source": MANUAL, "category": self.category})

    def _read_heading(self, level: int, title: str) -> None:
        self.end_item()
        self.parents.clear()
        name = title.casefold().replace(" ", "_")
        facts = _FACTS.match(title)
        self.section = _section_of(title)
        self.category = facts[1] if facts else name if name in CATEGORIES or name in CATEGORY_ALIASES else None
        self.prefix = "" if level == 1 or self.category else title

    def _read_rule(self, stripped: str) -> None:
        """Read a line between paragraphs, or one that makes the line above it a heading."""
        level = {"=": 1, "-": 2}.get(stripped[0])
        is_below_text = len(self.pending) == 1 and not (self.parents or self.after_blank)
        if level and is_below_text and len(set(stripped)) == 1:
            title, self.pending = self.pending[0], []
            self._read_heading(level, title)
        else:
            self.end_item()

    def _read_bullet(self, indent: int, text: str) -> None:
        self.end_item(has_children=bool(self.parents) and indent > self.parents[-1][0])
        while self.parents and self.parents[-1][0] >= indent:
            self.parents.pop()
        self.parents.append((indent, text))
        self.pending.append(text)

    def _read_text(self, line: str, stripped: str) -> None:
        if self.after_blank:
            self.end_item()
            if not line[0].isspace():
                self.parents.clear()
        self.pending.append(stripped)

    def _read_code(self, stripped: str) -> None:
        if stripped.startswith(self.fence) and not stripped.strip(self.fence[0]):
            self.collector.skip("\n".join(self.pending), "it is a block of code")
            self.fence, self.pending = "", []
        else:
            self.pending.append(stripped)


def read_markdown(documents: Sequence[ExportDocument], owner: str | None) -> ImportResult:
    """Read Markdown. Each bullet and each paragraph becomes a manual fact, which stays manual if the import is trusted.

    A heading that names a category sets it, and other headings below the first level become the beginning of the facts
    under them, as a bullet that ends with a colon does. Code, tables and comments are skipped.

    Raises:
        EditError: If *owner* is given, a document is not UTF-8, or has no text.
    """
    if owner is not None:
        raise EditError("Markdown has no owners: --of does not apply")
    collector, memory = FactCollector("markdown", confidence=CONFIDENCE), MemoryDocument()
    for document in documents:
        text = document.text()
        if not text.strip() or "\0" in text:
            raise EditError(f"{document.name} is not Markdown: it has no text")
        reader = _Reader(collector)
        for line in _body(text):
            reader.read_line(line)
        if reader.fence:
            reader.read_line(reader.fence)
        reader.end_item()
        for name, summary in reader.summaries.items():
            memory = memory.with_section(name, Section(summary=summary))
    return collector.result(memory)


def _body(text: str) -> list[str]:
    """Return the lines of *text* without its YAML front matter."""
    lines = text.split("\n")
    if lines[0].rstrip() == "---" and "---" in (ends := [line.rstrip() for line in lines[1:]]):
        return lines[ends.index("---") + 2 :]
    return lines
