"""README.md: examples run, names exist, figures are measured."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from memgraph import BackgroundInvoker, Context, build_graph
from memgraph.graph import in_memory_saver
from memgraph.llm.models import CHAT_MODELS
from memgraph.storage import STORAGES
from memgraph.testing import ScriptedModel, update_answer

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def run(marker: str, **names: Any) -> dict[str, Any]:
    """Execute the one example that contains *marker*, and return its global names."""
    (code,) = [example for example in EXAMPLES if marker in example]
    exec(compile(code, "README.md", "exec"), names)  # noqa: S102 - our own text
    return names


def test_quick_start_prints_its_last_comment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Copied as it stands into an empty environment."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    expected = re.findall(r"^# (.*)$", EXAMPLES[0], re.MULTILINE)[-1]

    exec(compile(EXAMPLES[0], "README.md", "exec"), {})  # noqa: S102 - our own text

    assert capsys.readouterr().out.strip() == expected


def test_client_example_prints_what_it_learned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    run("MemoryClient(user_id")
    run("MemoryClient(user_id")

    assert capsys.readouterr().out.count("in Lisbon") >= 2


def test_background_example_leaves_the_job_in_the_outbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is on disk when submit returns."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    run("BackgroundInvoker", messages=[HumanMessage("I'm Ada.")])

    with BackgroundInvoker(outbox="sqlite:outbox.db") as invoker:
        (job,) = invoker.pending()
    assert str(job.key) == "'ada', thread 'thread-1'"


def test_review_example_learns_the_edited_fact() -> None:
    """An edited item becomes a manual fact."""
    model = ScriptedModel(
        update_answer(
            {"content": "Lives in Rome.", "quote": "I live in Rome"}, {"content": "Likes tea.", "quote": "I like tea"}
        )
    )

    state = run(
        "Command(resume",
        graph=build_graph(model=model, storage="memory:", review="always", checkpointer=in_memory_saver()),
        conversation=[HumanMessage("I live in Rome, and I like tea.")],
        config={"configurable": {"thread_id": "t1"}},
        context=Context(user_id="ada"),
    )["state"]

    assert [(fact.content, fact.source) for fact in state["saved"].facts] == [("Lives in Paris.", "manual")]


def test_attachment_example_adds_past_exchanges_to_the_input() -> None:
    """The second run's input has one message more: the block of related memories."""
    graph = run("attach_to")["graph"]

    answers = [graph.invoke({"messages": "How do bees talk?"})["messages"][-1].content for _ in range(2)]

    assert answers == ["I received 1 messages.", "I received 2 messages."]


def test_drawing_shows_the_edges_of_the_graph() -> None:
    """The drawing is written by hand, so that it can have labels."""
    (drawing,) = re.findall(r"```mermaid\n(.*?)```", README, re.DOTALL)
    names = {"start([start])": "__start__", "stop([end])": "__end__", "start": "__start__", "stop": "__end__"}
    drawn = {
        (names.get(source, source), names.get(target, target))
        for source, target in re.findall(r"^\s*(\S+) (?:-->|-\. .*? \.->) (\S+)$", drawing, re.MULTILINE)
    }

    assert drawn == {(edge.source, edge.target) for edge in build_graph(storage="memory:").get_graph().edges}


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`((?:memgraph|tests|graphs)/[\w/.*-]+)`", README))))
def test_named_files_exist(path: str) -> None:
    """A reader follows these paths."""
    assert list(ROOT.glob(path.rstrip("/")))


@pytest.mark.parametrize(("name", "path"), re.findall(r"`([A-Z_]+)` in `(memgraph/[\w/.]+)`", README))
def test_tables_to_extend_are_in_the_named_files(name: str, path: str) -> None:
    """The table "Extending" names a variable and its file."""
    assert re.search(rf"^{name}\b.* = ", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)


def test_all_storages_and_models_are_documented() -> None:
    """An undocumented one is not found."""
    assert all(f"`{scheme}:" in README for scheme in STORAGES)
    assert all(f"`{name}" in README for name in CHAT_MODELS)


def test_all_figures_are_measured() -> None:
    """Every row of the benchmark tables is a row of RESULTS.md."""
    measured = set((ROOT / "benchmarks/RESULTS.md").read_text(encoding="utf-8").splitlines())
    section = README.partition("## Benchmarks")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")]

    assert len(rows) > 30
    assert [row for row in rows if row not in measured] == []
