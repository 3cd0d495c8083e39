"""The README is true."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from memgraph import BackgroundInvoker, Context, build_graph
from memgraph.langgraph_adapter import in_memory_saver
from memgraph.llm.models import CHAT_MODELS
from memgraph.storage import STORAGES
from memgraph.testing import ScriptedModel, update_answer

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_its_example_runs_and_prints_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Copied as it stands, on a machine of one's own."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    code = EXAMPLES[0]
    promised = re.findall(r"^# (.*)$", code, re.MULTILINE)[-1]

    exec(compile(code, "README.md", "exec"), {})  # noqa: S102 - it is our own text

    assert capsys.readouterr().out.strip() == promised


def test_its_background_example_keeps_what_was_submitted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On disk when it returns."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (code,) = [example for example in EXAMPLES if "BackgroundInvoker" in example]

    exec(compile(code, "README.md", "exec"), {"messages": [HumanMessage("I'm Ada.")]})  # noqa: S102

    with BackgroundInvoker(outbox="sqlite:outbox.db") as invoker:
        (job,) = invoker.pending()
    assert str(job.key) == "'ada', thread 'thread-1'"


def test_its_review_example_learns_what_the_person_wrote() -> None:
    """An edited item is the person's own."""
    (code,) = [example for example in EXAMPLES if "Command(resume" in example]
    model = ScriptedModel(update_answer("Lives in Rome.", "Likes tea."))
    names: dict[str, Any] = {
        "graph": build_graph(model=model, storage="memory:", review="always", checkpointer=in_memory_saver()),
        "conversation": [HumanMessage("I live in Rome.")],
        "config": {"configurable": {"thread_id": "t1"}},
        "context": Context(user_id="ada"),
    }

    exec(compile(code, "README.md", "exec"), names)  # noqa: S102

    assert [(fact.content, fact.source) for fact in names["state"]["saved"].facts] == [("Lives in Paris.", "manual")]


def test_its_attachment_example_tells_a_node_what_was_said_before() -> None:
    """The block is one message more."""
    (code,) = [example for example in EXAMPLES if "attach_to" in example]
    names: dict[str, Any] = {}
    exec(compile(code, "README.md", "exec"), names)  # noqa: S102

    said = [names["graph"].invoke({"messages": "How do bees talk?"})["messages"][-1].content for _ in range(2)]

    assert said == ["I was told 1 messages.", "I was told 2 messages."]


def test_its_picture_shows_the_routes_of_the_graph() -> None:
    """What is drawn is what runs."""
    (picture,) = re.findall(r"```mermaid\n(.*?)```", README, re.DOTALL)
    names = {"start([start])": "__start__", "stop([end])": "__end__", "start": "__start__", "stop": "__end__"}
    shown = {
        (names.get(source, source), names.get(target, target))
        for source, target in re.findall(r"^\s*(\S+) (?:-->|-\. .*? \.->) (\S+)$", picture, re.MULTILINE)
    }

    assert shown == {(edge.source, edge.target) for edge in build_graph(storage="memory:").get_graph().edges}


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`((?:memgraph|tests|graphs)/[\w/.*-]+)`", README))))
def test_the_files_it_names_are_there(path: str) -> None:
    """A reader will look."""
    assert list(ROOT.glob(path.rstrip("/")))


def test_every_storage_and_model_of_the_tables_is_named() -> None:
    """One that is not in the README is not found."""
    assert all(f"`{scheme}:" in README for scheme in STORAGES)
    assert all(f"`{name}" in README for name in CHAT_MODELS)


def test_its_figures_are_those_that_were_measured() -> None:
    """No number that `make bench` did not produce."""
    measured = set((ROOT / "benchmarks/RESULTS.md").read_text(encoding="utf-8").splitlines())
    section = README.partition("## What it costs")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")]

    assert len(rows) > 30
    assert [row for row in rows if row not in measured] == []
