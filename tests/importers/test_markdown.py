"""Markdown in and out: notes become facts, and an exported memory is read back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgraph.analysis.normalize import single_line
from memgraph.editing import merge_memory
from memgraph.errors import EditError
from memgraph.importers import READERS, ExportDocument, ImportResult, render_markdown
from memgraph.models import CATEGORIES, SECTIONS, Fact, MemoryDocument, Section
from memgraph.policy import Policy

NOTES = """---
description: rules
---
# AGENTS.md

Guidance for agents in this
repository.

## Testing ##

- Run `make test` before each commit
  and after it.
* Tools:
    1. Use uv

    2. Never pip
- Answer shortly:

## Preferences
+ Tabs over spaces

```bash
- make all
```
| a | b |
@docs/other.md
<!-- a comment -->

Style
-----
- C# is used

---

## C#
No regions.

## Work context
Engineer at Acme.

- on compilers
"""


def read(text: str) -> ImportResult:
    return READERS["markdown"]([ExportDocument("notes.md", text.encode())], None)


def contents(memory: MemoryDocument) -> list[tuple[str, str]]:
    return [(fact.category, fact.content) for fact in memory.facts]


def test_bullets_and_paragraphs_become_facts() -> None:
    """A heading that is a category sets it; others, and bullets that introduce others, begin the facts below them."""
    assert contents(read(NOTES).memory) == [
        ("context", "Guidance for agents in this repository."),
        ("context", "Testing: Run `make test` before each commit and after it."),
        ("context", "Testing: Tools: Use uv"),
        ("context", "Testing: Tools: Never pip"),
        ("context", "Testing: Answer shortly:"),
        ("preference", "Tabs over spaces"),
        ("context", "Style: C# is used"),
        ("context", "C#: No regions."),
    ]


def test_a_heading_that_is_a_summary_holds_one() -> None:
    assert read(NOTES).memory.user.work_context.summary == "Engineer at Acme.\n\n- on compilers"


def test_what_is_not_prose_is_reported() -> None:
    """Code, tables, references to other files and comments."""
    assert [note.what for note in read(NOTES).report.left] == [
        "- make all",
        "| a | b |",
        "@docs/other.md",
        "<!-- a comment -->",
    ]


def test_code_that_is_never_closed_is_reported() -> None:
    assert [note.what for note in read("- a\n```\nmake").report.left] == ["make"]


@pytest.mark.parametrize(("trusted", "source"), [(True, "manual"), (False, "unknown")])
def test_facts_are_manual_if_the_import_is_trusted(trusted: bool, source: str) -> None:  # noqa: FBT001
    """As with every document: a file from anywhere must not forbid that its facts are corrected."""
    merged = merge_memory(MemoryDocument(), read("- Likes tea").memory, trusted=trusted)

    assert [(fact.source, fact.confidence) for fact in merged.facts] == [(source, 1.0)]


@pytest.mark.parametrize("data", [b"", b" \n", b"\xff\xfe", b"a\0b"])
def test_anything_but_text_is_an_error_with_its_name(data: bytes) -> None:
    with pytest.raises(EditError, match=r"notes\.md is not"):
        READERS["markdown"]([ExportDocument("notes.md", data)], None)


def test_markdown_has_no_owners() -> None:
    with pytest.raises(EditError, match="--of does not apply"):
        READERS["markdown"]([ExportDocument("notes.md", b"- a")], "ada")


def test_facts_are_exported_by_category() -> None:
    memory = MemoryDocument(
        facts=(
            Fact(content="Lives in Oslo.", category="context"),
            Fact(content="Likes\ntea.", category="preference"),
            Fact(content="Has a dog.", category="context"),
        )
    ).with_section("work_context", Section(summary="Engineer.\n# at Acme"))

    assert render_markdown(memory, Policy()) == (
        "# Memory\n\n## Work context\n\nEngineer.\n\\# at Acme\n\n"
        "## Facts (preference)\n\n- Likes tea.\n\n"
        "## Facts (context)\n\n- Lives in Oslo.\n- Has a dog.\n"
    )


LINES = st.text(st.sampled_from("ab C#-*+>`~|@<!:.()[]\\_1\t é我"), min_size=1, max_size=20)
CONTENTS = LINES.map(lambda text: single_line(f"{text} x"))
NAMES = (*SECTIONS, "healthGoals")
SUMMARIES = st.lists(LINES, max_size=5).map(lambda lines: "\n".join(lines).strip())


@given(
    facts=st.lists(
        st.tuples(CONTENTS, st.sampled_from(sorted(CATEGORIES))), max_size=8, unique_by=lambda fact: fact[0].casefold()
    ),
    summaries=st.fixed_dictionaries(dict.fromkeys(NAMES, SUMMARIES)),
)
def test_an_exported_memory_is_read_back(facts: list[tuple[str, str]], summaries: dict[str, str]) -> None:
    """Every fact with its category, and every summary, whatever Markdown is in them."""
    memory = MemoryDocument(facts=tuple(Fact(content=content, category=category) for content, category in facts))
    for name in NAMES:
        memory = memory.with_section(name, Section(summary=summaries[name]))

    result = read(render_markdown(memory, Policy()))

    kept = {"".join(content.casefold().split()): (category, content) for content, category in reversed(facts)}
    assert {content for _, content in contents(result.memory)} <= {content for content, _ in facts}
    assert len(result.memory.facts) == len(kept)
    assert {name: result.memory.section(name).summary for name in NAMES} == summaries
    assert set(contents(result.memory)) <= {(category, content) for content, category in facts}
