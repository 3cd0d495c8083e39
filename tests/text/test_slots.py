"""Slots: what a fact states that a person has one of at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from memgraph.text.slots import SlotValue, find_slot, load_slots, packaged_slots


@pytest.mark.parametrize(
    ("content", "slot", "value"),
    [
        ("Lives in Lisbon, near the river.", "home", "lisbon"),
        ("Moved from Leeds to York in May.", "home", "york"),
        ("I'm a tester and I live in Porto now.", "role", "tester"),
        ("The user: Works at Acme.", "employer", "acme"),
        ("Was made team lead.", "role", "team lead"),
        ("Timezone: America/Chicago", "timezone", "america/chicago"),
        ("Name is Anna Petrov.", "name", "anna petrov"),
        ("用户现居杭州。", "home", "杭州"),
        ("就读于浙江大学。", "school", "浙江大学"),
        ("家庭医生换成刘医生。", "doctor", "刘医生"),
        ("Mainly codes in TypeScript.", "programming_language", "typescript"),
        ("All our services are deployed to Scaleway.", "hosting", "scaleway"),
        ("Is registered for tax as a partnership.", "tax_status", "partnership"),
        ("Is an archivist at Pellucid.", "employer", "pellucid"),
        ("主要用 Java 开发。", "programming_language", "java"),
        ("服务已经迁移到阿里云。", "hosting", "阿里云"),
        ("以个体户身份纳税。", "tax_status", "个体户"),
        ("是远航物流的会计师。", "employer", "远航物流"),
        ("手机用旧 iPhone", "phone", "旧 iphone"),
    ],
)
def test_a_fact_about_the_user_fills_a_slot(content: str, slot: str, value: str) -> None:
    assert find_slot(content) == SlotValue(slot, value)


@pytest.mark.parametrize(
    "content",
    [
        "My sister lives in Oslo.",
        "Used to live in Dublin.",
        "Would like to live in Italy.",
        "Made an apple pie for the children.",
        "Made a lot of money.",
        "Knows a good dentist.",
        "Wants to be a teacher.",
        "Is looking for a new accountant.",
        "Allergic to walnuts.",
        "妹妹住在北京。",
        "以前住在苏州。",
        "住在合租房里。",
        "买了一辆自行车。",
        "Writes Python.",
        "Writes mostly fiction.",
        "The servers run on Debian.",
        "Eats gluten-free.",
        "写 Python。",
        "是浙江大学的学生。",
        "只吃清真。",
        "",
    ],
)
def test_other_people_the_past_and_wishes_fill_no_slot(content: str) -> None:
    assert find_slot(content) is None


def test_the_slot_of_a_model_counts_by_any_of_its_names() -> None:
    claimed = SlotValue("home", "lisbon, since spring", is_claimed=True)

    assert find_slot("Lisbon, since spring.", "Place of residence") == claimed


def test_a_slot_that_the_table_lacks_counts_as_none() -> None:
    assert find_slot("Plays chess.", "hobby") is None


@pytest.mark.parametrize(
    ("one", "other", "are_same"),
    [
        ("Lives in Lisbon.", "Lives in Lisbon, Portugal.", True),
        ("Lives in Lisbon.", "Lives in Porto.", False),
        ("Is an engineer.", "Is a senior engineer.", False),
        ("家庭医生是张医生。", "家庭医生是刘医生。", False),
    ],
)
def test_values_are_the_same_if_one_contains_the_other(one: str, other: str, are_same: bool) -> None:  # noqa: FBT001
    first, second = find_slot(one), find_slot(other)

    assert first
    assert second
    assert packaged_slots().are_same(first, second) is are_same


def test_what_people_have_several_of_is_no_single_valued_slot() -> None:
    """Languages, pets and tools stand beside each other."""
    (value,) = packaged_slots().values("Allergic to walnuts.")

    assert (value.slot, value.slot in packaged_slots().single_valued) == ("allergy", False)


def test_a_dietary_rule_stands_beside_a_diet() -> None:
    """A vegan who finds out that she is coeliac is still vegan."""
    assert find_slot("Is vegan.") == SlotValue("diet", "vegan")
    assert packaged_slots().values("Is coeliac.") == (SlotValue("dietary_rule", "coeliac"),)


def test_things_are_hosted_one_by_one() -> None:
    """A blog somewhere else says nothing about the servers."""
    blog, servers = find_slot("The blog is hosted on Netlify."), find_slot("The servers run on AWS.")

    assert (blog, servers) == (SlotValue("hosting", "netlify", "blog"), SlotValue("hosting", "aws"))


def test_a_folder_adds_slots_of_a_user(tmp_path: Path) -> None:
    (tmp_path / "en.yaml").write_text("slots: {bike: {patterns: 'rides <a><val>'}}", encoding="utf-8")

    slots = load_slots(tmp_path)

    assert slots.find("Rides a Brompton.") == SlotValue("bike", "brompton")
    assert slots.find("Lives in Lisbon.") == SlotValue("home", "lisbon")
