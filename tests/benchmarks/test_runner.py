"""The benchmarks run and report their results."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import textwrap
import time
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgraph.cli import bench

HERE = Path(__file__).parents[2] / "benchmarks"
sys.path.append(str(HERE))  # as `python benchmarks/all.py` has it

import common  # noqa: E402
import report  # noqa: E402
import result  # noqa: E402
import run_one  # noqa: E402


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"benchmark_{name}", HERE / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


RUNNER = _load("all")
MACHINE_DEPENDENT = ("ms", "s ", "share", "MB")
"""Units of figures that depend on the machine or need the full data."""
IN_THIS_PROCESS = frozenset(
    {"recall", "episode_recall", "own_recall", "extraction", "provenance", "statements", "debounce", "agents"}
    | {"attachments", "attacks", "rebuild"}
)
"""Parts that start and leave nothing: in a process of their own, most of their time would be its start."""


@pytest.mark.parametrize("part", RUNNER.PARTS)
def test_part_runs_and_its_counts_meet_their_bounds(part: str, tmp_path: Path) -> None:
    """Times depend on the machine; a lost turn is an error at any size."""
    run = (run_one if part in IN_THIS_PROCESS else RUNNER).run(part, tmp_path, quick=True)

    if run.skipped:
        pytest.skip(run.skipped)
    assert not run.failed, run.failed
    assert [row.name for row in run.finding.rows if not row.unit.startswith(MACHINE_DEPENDENT) and not row.is_met] == []
    assert len({row.name for row in run.finding.rows}) == len(run.finding.rows) > 0


# -- the runner -----------------------------------------------------------------------------------


def test_failed_part_is_an_outcome(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other parts still run, and the report has the error without absolute paths."""
    (tmp_path / "run_one.py").write_text(f"raise SystemExit('no luck in {tmp_path.parent}/x.py')")
    (tmp_path / "part.py").touch()
    monkeypatch.setattr(RUNNER, "HERE", tmp_path)

    run = RUNNER.run("part", tmp_path, quick=True)

    assert run.failed == "no luck in x.py"


def test_hanging_part_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other parts must still run."""
    (tmp_path / "run_one.py").write_text("import time; time.sleep(60)")
    (tmp_path / "part.py").touch()
    monkeypatch.setattr(RUNNER, "HERE", tmp_path)
    monkeypatch.setattr(RUNNER, "LIMIT_SECONDS", 0.1)

    run = RUNNER.run("part", tmp_path, quick=True)

    assert "not finished after 0.1 s" in run.failed


def test_processes_left_by_a_part_are_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that a part started must not outlive it."""
    code = """
        import pathlib, subprocess, sys
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], stderr=subprocess.DEVNULL)
        raise SystemExit(str(child.pid))
    """
    (tmp_path / "run_one.py").write_text(textwrap.dedent(code))
    (tmp_path / "part.py").touch()
    monkeypatch.setattr(RUNNER, "HERE", tmp_path)

    run = RUNNER.run("part", tmp_path, quick=True)

    assert _is_gone(int(run.failed))


def _is_gone(process: int) -> bool:
    """Return whether *process* ends within a minute; the system may take a while to reap it."""
    stat = Path("/proc", str(process), "stat")
    for _ in range(6_000):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        if stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.01)
    return False


def test_failed_part_sets_the_exit_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CI must notice."""
    failed = result.Outcome("update", 1, failed="no luck")
    monkeypatch.setattr(RUNNER, "measure", lambda *args, **options: [failed])
    monkeypatch.setattr(sys, "argv", ["all.py", "--only", "update", "--to", str(tmp_path)])

    code = RUNNER.main()

    assert code == 1
    assert "no luck" in (tmp_path / "RESULTS.md").read_text()


# -- the report -------------------------------------------------------------------------------------


def test_report_starts_with_unmet_skipped_and_failed() -> None:
    """A reader sees problems first."""
    rows = [
        common.Row("turns lost", 1, bound=common.at_most(0)),
        common.Row("share found", 0.75, "share", 0.7, 0.8, common.at_least(0.7)),
    ]
    ran = result.Outcome("kill", 61, finding=result.Finding("kill -9", rows, [], {"set.json": "ab12"}, ["A note."]))
    skipped = result.Outcome("servers", 0, skipped="needs PostgreSQL")

    page = report.render_report(
        [ran, skipped, result.Outcome("update", 1, failed="no luck")], {"cores": "2"}, {"numpy": "2"}
    )

    assert "1 of 2 bounds are met" in page
    assert "- not met: kill: turns lost" in page
    assert "| turns lost | 1 |  | at most 0 | **not met** |" in page
    assert "| share found | 0.750 | 0.700 to 0.800 | at least 0.700 | met |" in page
    assert "- skipped: servers, which needs PostgreSQL" in page
    assert "- **failed**: update" in page
    assert "| set.json | sha256 ab12 |" in page


def test_machine_has_no_host_name_or_path() -> None:
    """The report is committed."""
    properties = _load("machine").describe_machine()

    assert not [value for value in properties.values() if "/" in value.replace("GNU/Linux", "")]
    assert __import__("platform").node() not in " ".join(properties.values())


def test_outcome_survives_serialisation(tmp_path: Path) -> None:
    """It is passed from one process to another."""
    rows = [common.Row("turns", 3, "turns", 1, 4, common.at_least(3), "of three")]
    sent = result.Outcome("kill", 2, finding=result.Finding("t", rows, [result.Picture("p", "c")], {}, ["n"]))

    result.write_outcome(sent, tmp_path)

    assert result.read_outcome("kill", tmp_path) == sent


# -- figures --------------------------------------------------------------------------------------


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=50), st.sampled_from([0.5, 0.9, 0.99]))
def test_quantile_lies_within_its_interval(samples: list[float], share: float) -> None:
    row = common.quantile_row("x", samples, share, "ms CPU")

    assert min(samples) <= row.low <= row.value <= row.high <= max(samples)


@pytest.mark.parametrize("count", [20, 200])
def test_interval_of_a_share_is_about_two_standard_errors(count: int) -> None:
    """Compared with the formula for a share of one half."""
    row = common.share_row("x", [number % 2 for number in range(count)])

    assert (row.high - row.low) / 2 == pytest.approx(1.96 * (0.25 / count) ** 0.5, rel=0.15)


def test_interval_is_reproducible() -> None:
    """The report changes only if the measurements do."""
    hits = [0.0, 1.0, 0.5, 1.0, 1.0]

    assert common.share_row("x", hits) == common.share_row("x", hits)
    assert common.bootstrap(hits, sum) == common.bootstrap(hits, sum)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.7428, "share", "0.743"),
        (3, "", "3"),
        (12_345.6, "tokens", "12,346"),
        (9.876, "ms CPU", "9.88"),
        (0.01234, "s CPU", "0.0123"),
        (0.0, "ms CPU", "0"),
        (131.4, "ms CPU", "131"),
    ],
)
def test_figures_have_three_significant_digits(value: float, unit: str, text: str) -> None:
    assert common.format_figure(value, unit) == text


# -- the command ----------------------------------------------------------------------------------


def test_command_without_a_checkout_explains_where_the_benchmarks_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An installed package has no benchmarks."""
    from memgraph.cli.app import start

    monkeypatch.setattr(bench, "RUNNER", tmp_path / "all.py")

    code = start(["bench"])

    assert code == 1
    assert "clone the repository" in capsys.readouterr().err


def test_command_passes_its_options_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It runs the same as `make bench`."""
    from memgraph.cli.app import start

    runner, arguments = tmp_path / "all.py", tmp_path / "arguments"
    runner.write_text(
        f"import json, pathlib, sys; pathlib.Path({str(arguments)!r}).write_text(json.dumps(sys.argv[1:]))"
    )
    monkeypatch.setattr(bench, "RUNNER", runner)

    code = start(["bench", "update", "kill", "--quick"])

    assert code == 0
    assert json.loads(arguments.read_text()) == ["--quick", "--only", "update", "kill"]


# -- the README -----------------------------------------------------------------------------------


def test_readme_row_is_updated_by_its_name() -> None:
    """The rest of the page is unchanged."""
    results = "| what | measured |\n|---|---|\n| update, 100 facts | 9 ms |\n| twice | 1 |\n| twice | 2 |\n"
    page = "# memgraph\n\n| update, 100 facts | 12 ms |\n| twice | 0 |\n| `file:` | a folder |\n"

    updated = _load("readme").update_rows(page, results)

    assert updated == page.replace("12 ms", "9 ms")
