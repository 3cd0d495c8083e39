"""Slots: the names of what a person has one of at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from memgraph.analysis.slots import load_slots, packaged_slots
from memgraph.errors import ConfigError


@pytest.mark.parametrize(
    ("named", "slot"),
    [("home", "home"), ("Place of residence", "home"), ("job-title", "role"), ("hobby", None), ("", None)],
)
def test_a_model_may_call_a_slot_by_any_of_its_names(named: str, slot: str | None) -> None:
    assert packaged_slots().normalize(named) == slot


def test_what_people_have_several_of_is_no_single_valued_slot() -> None:
    assert packaged_slots().normalize("allergies") == "allergy"
    assert packaged_slots().single_valued.isdisjoint({"allergy", "dietary_rule", "favourite"})


def test_a_folder_adds_slots_of_a_user(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text("bike: {in_prompt: true, aliases: [bicycle]}", encoding="utf-8")

    slots = load_slots(tmp_path)

    assert (slots.normalize("Bicycle"), slots.normalize("city")) == ("bike", "home")
    assert slots.prompted == (*packaged_slots().prompted, "bike")


@pytest.mark.parametrize("text", ["My Bike: {}", "bike: {patterns: rides}", "- bike", "bike: {aliases: 3}"])
def test_a_file_of_another_shape_is_refused_by_its_name(tmp_path: Path, text: str) -> None:
    (tmp_path / "own.yaml").write_text(text, encoding="utf-8")

    with pytest.raises(ConfigError, match=r"own\.yaml"):
        load_slots(tmp_path)


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="missing does not exist"):
        load_slots(tmp_path / "missing")
