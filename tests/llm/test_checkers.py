"""A model is probed once, whatever process asks next."""

from __future__ import annotations

from pathlib import Path

import pytest
from langchain_core.language_models import FakeListChatModel

from memgraph.llm import checkers
from memgraph.llm.checkers import FILE_NAME, Checkers, model_key


class NamedModel(FakeListChatModel):
    """A model with the fields of a provider's client."""

    model_name: str = "small-1"
    base_url: str = "http://key@models.example:8080/v1"


def model(**fields: str) -> NamedModel:
    return NamedModel(responses=["x"], **fields)


@pytest.mark.parametrize("passed", [True, False])
def test_another_process_knows_what_the_probe_has_shown(tmp_path: Path, *, passed: bool) -> None:
    Checkers(tmp_path).note(model(), passed=passed)

    assert Checkers(tmp_path).passed(model()) is passed


@pytest.mark.parametrize("other", [{"model_name": "small-2"}, {"base_url": "http://other.example/v1"}])
def test_another_model_or_server_is_probed(tmp_path: Path, other: dict[str, str]) -> None:
    Checkers(tmp_path).note(model(), passed=True)

    assert Checkers(tmp_path).passed(model(**other)) is None


def test_another_probe_asks_each_model_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Checkers(tmp_path).note(model(), passed=True)
    monkeypatch.setattr(checkers, "probe_version", lambda: "another")

    assert Checkers(tmp_path).passed(model()) is None


def test_a_damaged_file_costs_a_probe_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text('{"NamedModel small-1": {"passed": "perh')
    found = Checkers(tmp_path)

    assert found.passed(model()) is None
    found.note(model(), passed=True)
    assert Checkers(tmp_path).passed(model()) is True


def test_a_folder_that_cannot_be_written_fails_no_update(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    found, one = Checkers(tmp_path / "file"), model()

    found.note(one, passed=True)

    assert found.passed(one) is True


def test_no_key_of_a_server_is_kept(tmp_path: Path) -> None:
    Checkers(tmp_path).note(model(), passed=True)

    assert model_key(model()) == "NamedModel small-1 at models.example:8080"
    assert "key" not in (tmp_path / FILE_NAME).read_text()


def test_a_model_without_a_name_is_known_in_one_process_only(tmp_path: Path) -> None:
    found, one = Checkers(tmp_path), FakeListChatModel(responses=["x"])
    found.note(one, passed=True)

    assert (found.passed(one), Checkers(tmp_path).passed(one)) == (True, None)
    assert not (tmp_path / FILE_NAME).exists()
