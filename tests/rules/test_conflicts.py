"""Likely conflicts between additions and known facts, and what follows from the model's decision."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from update_values import addition, fact, turn, update

from memgraph import Fact, MemoryDocument, Policy
from memgraph.models import Addition, Conflict, Evidence, Removal, Verdict
from memgraph.rules.conflicts import MAX_CONFLICTS, MAX_PER_ADDITION, likely_conflicts, settle, with_control
from memgraph.text.slots import load_slots, packaged_slots

BEFORE, LATER = "2026-01-05T08:00:00Z", "2026-05-02T08:00:00Z"
POLICY = Policy()
SLOTS = packaged_slots()

CHANGES = (
    ("Prefers tea to coffee.", "Prefers coffee to tea.", "I've switched from tea to coffee, my doctor said so."),
    ("Plays chess with Dana on Fridays.", "Plays chess with Dana on Sundays.", "Chess with Dana is on Sundays now."),
    ("Waters the orchids weekly.", "Waters the orchids daily.", "From now on I water the orchids daily."),
    ("Plans to learn Spanish this year.", "Stopped learning Spanish.", "I stopped learning Spanish, no time."),
    ("Goes to the gym on Mondays.", "Does not go to the gym any more.", "I don't go to the gym anymore."),
    ("Is allergic to peanuts.", "Is not allergic to peanuts.", "Turns out I'm not allergic to peanuts after all."),
    ("Plans a trip to Japan in October.", "The trip to Japan is cancelled.", "We cancelled Japan, too expensive."),
    ("Is writing a novel about bees.", "Has given up the novel.", "I gave up the novel, it went nowhere."),
    ("Uses tabs for indentation.", "Uses spaces for indentation.", "We moved to spaces instead of tabs."),
    ("Deploys with Jenkins.", "Deploys with GitHub Actions.", "We replaced Jenkins by GitHub Actions last month."),
    ("喜欢喝咖啡。", "不喝咖啡了,改喝茶。", "我不喝咖啡了,改喝茶。"),
    ("每周一去健身房。", "不去健身房了。", "我不再去健身房了。"),
    ("计划十月去日本旅行。", "取消了日本旅行。", "日本旅行取消了,太贵了。"),
    ("在学西班牙语。", "放弃了西班牙语。", "西班牙语我放弃了,没时间。"),
    ("对花生过敏。", "对花生不过敏。", "检查说弄错了,我其实对花生不过敏。"),
)
"""What was known, what is new, and how the user said it."""
KNOWN = tuple(fact(known, id=f"f{number}", said_at=BEFORE) for number, (known, _, _) in enumerate(CHANGES))


def quoted(content: str, quote: str, **fields: object) -> Addition:
    return addition(content, said_at=LATER, evidence=(Evidence(quote=quote),), **fields)


def conflicts(*additions: Addition, facts: tuple[Fact, ...] = KNOWN, said: str | None = None) -> list[tuple[str, str]]:
    """The ids of the known facts and the additions; the user said the quotes unless *said* is given."""
    turns = [turn("m1", said or " ".join(one.evidence[0].quote for one in additions))]
    found = likely_conflicts(update(additions=additions), MemoryDocument(facts=facts), turns, POLICY)
    return [(conflict.known_id, conflict.addition_id) for conflict in found]


@pytest.mark.parametrize("number", range(len(CHANGES)))
def test_a_changed_fact_is_found_among_others(number: int) -> None:
    """And nothing else."""
    _, new, said = CHANGES[number]

    assert conflicts(quoted(new, said)) == [(f"f{number}", "fact_00000001")]


def test_a_users_own_slot_decides_without_a_question(tmp_path: Path) -> None:
    """The value that was said later wins."""
    (tmp_path / "en.yaml").write_text("slots: {watering: {patterns: 'waters the orchids <val>'}}", encoding="utf-8")
    _, new, said = CHANGES[2]
    changes = update(additions=(quoted(new, said),))

    found = [
        likely_conflicts(changes, MemoryDocument(facts=KNOWN), [turn("m1", said)], POLICY, slots)
        for slots in (None, load_slots(tmp_path))
    ]

    assert list(map(len, found)) == [1, 0]


@pytest.mark.parametrize(
    ("content", "quote"),
    [
        ("Drinks tea with milk.", "I drink tea with milk."),
        ("Stopped smoking.", "I stopped smoking."),
        ("Prefers coffee to tea.", "I prefer coffee to tea."),
        ("戒烟了。", "我戒烟了。"),
    ],
    ids=["no change word", "nothing known of it", "no change word, contradicting", "Chinese"],
)
def test_what_no_change_word_or_known_fact_speaks_for_is_not_asked_about(content: str, quote: str) -> None:
    """A second look costs a call."""
    assert conflicts(quoted(content, quote)) == []


@pytest.mark.parametrize(
    ("known", "new", "said"),
    [
        (
            "Allergic to penicillin.",
            "Allergic to sulfa drugs.",
            "It was never penicillin, I'm allergic to sulfa.",
        ),
        ("对青霉素过敏。", "对磺胺过敏。", "复查说弄错了,我是对磺胺过敏。"),
    ],
)
def test_what_people_have_several_of_is_asked_about_if_something_ended(known: str, new: str, said: str) -> None:
    assert conflicts(quoted(new, said), facts=(fact(known, id="f0", said_at=BEFORE),))


@pytest.mark.parametrize(
    ("known", "new", "said"),
    [
        (
            "Sings in the choir of the old town church.",
            "Plays handball in a club.",
            "I gave up the choir, I play handball in a club.",
        ),
        ("参加了一个合唱团俱乐部。", "每周打两次手球。", "合唱太费嗓子,戒了,每周打两次手球。"),
    ],
)
def test_what_ended_is_found_by_the_words_that_the_new_fact_lacks(known: str, new: str, said: str) -> None:
    """However few of its words they are; a word of the new fact itself does not tell what ended."""
    facts = (fact(known, id="f0", said_at=BEFORE),)

    assert conflicts(quoted(new, said), facts=facts) == [("f0", "fact_00000001")]
    assert conflicts(quoted(f"{said} {new}", said), facts=facts) == []


def test_a_change_word_counts_in_the_quoted_sentence() -> None:
    """A long turn has one somewhere."""
    new = quoted("Prefers coffee to tea.", "I prefer coffee to tea.")

    assert conflicts(new, said="I stopped smoking. I prefer coffee to tea.") == []
    assert conflicts(new, said="I prefer coffee to tea. I stopped smoking.") == []


def test_only_the_users_own_words_count() -> None:
    """Not those of the assistant."""
    _, new, said = CHANGES[0]
    turns = [turn("m1", said, role="ai")]

    assert likely_conflicts(update(additions=(quoted(new, said),)), MemoryDocument(facts=KNOWN), turns, POLICY) == ()


@pytest.mark.parametrize("fields", [{"replaces": ("f0",)}, {"confidence": 0.1}, {"durable": False}, {"evidence": ()}])
def test_what_is_linked_or_refused_anyway_is_not_asked_about(fields: dict[str, object]) -> None:
    """Nor what no words of the user speak for."""
    _, new, said = CHANGES[0]

    assert conflicts(quoted(new, said).model_copy(update=fields), said=said) == []


def test_what_the_model_removes_is_not_asked_about() -> None:
    """It decided that."""
    _, new, said = CHANGES[0]
    changes = update(additions=(quoted(new, said),), removals=(Removal(id="f0"),))

    assert likely_conflicts(changes, MemoryDocument(facts=KNOWN), [turn("m1", said)], POLICY) == ()


def test_what_was_said_later_is_not_replaced_by_what_was_said_before() -> None:
    """Old conversations may be imported."""
    _, new, said = CHANGES[0]

    assert conflicts(quoted(new, said), facts=(fact(CHANGES[0][0], id="f0", said_at="2026-06-01T00:00:00Z"),)) == []


def test_what_is_known_is_no_conflict() -> None:
    """It is confirmed."""
    known, _, said = CHANGES[0]

    assert conflicts(quoted(known.upper(), said)) == []
    assert conflicts(quoted("The user is allergic to peanuts.", "Turns out I'm allergic to peanuts.")) == []


def test_two_values_of_one_slot_are_not_asked_about() -> None:
    """The later one supersedes the other without a model."""
    home = fact("Lives in Oslo, near the river.", id="home", said_at=BEFORE)

    assert (
        conflicts(quoted("Lives in Bergen, near the river.", "We moved to Bergen, near the river."), facts=(home,))
        == []
    )


def test_one_second_look_has_few_pairs() -> None:
    """Of each addition, too."""
    alike = tuple(fact("Coffee" + "!" * number, id=f"c{number}") for number in range(20))
    new = [quoted("Quit coffee.", "I quit coffee.", id=f"n{number}") for number in range(4)]

    assert len(conflicts(new[0], facts=alike)) == MAX_PER_ADDITION
    assert len(conflicts(*new, facts=alike)) == MAX_CONFLICTS


def test_an_update_without_change_words_reads_no_fact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most updates have none, so they pay for nothing."""
    for module in ("conflicts", "relatedness"):
        monkeypatch.setattr(f"memgraph.rules.{module}.extract_terms", lambda _: pytest.fail("a fact was read"))

    assert conflicts(quoted("Likes jazz.", "I like jazz.")) == []


# -- the control ----------------------------------------------------------------------------------


def test_a_second_look_begins_with_a_control() -> None:
    """A known fact that has nothing in common with the new one and is not asked about; none without such a fact."""
    likely = (Conflict(known_id="f1", addition_id="n1"),)
    memory = MemoryDocument(facts=(*MEMORY.facts, fact("Likes cycling.", id="f2"), fact("Grows tomatoes.", id="f3")))

    asked = with_control(likely, CHANGED, memory, SLOTS)

    assert [(one.known_id, one.is_control) for one in asked] == [("f3", True), ("f1", False)]
    assert with_control(likely, CHANGED, MEMORY, SLOTS) == likely
    assert with_control((), CHANGED, memory, SLOTS) == ()


def test_what_has_nothing_in_common_is_not_the_same() -> None:
    """A small model says so."""
    memory = MemoryDocument(facts=(fact("Plays the violin.", id="f1"),))

    settled = settle(CHANGED, {PAIR: "same"}, memory, SLOTS)

    assert settled == CHANGED


# -- settling -------------------------------------------------------------------------------------

PAIR = Conflict(known_id="f1", addition_id="n1")
MEMORY = MemoryDocument(facts=(fact("Goes by bus.", id="f0"), fact("Rides a cycle to the office.", id="f1")))
CHANGED = update(additions=(addition("Cycles to work.", id="n1", replaces=("f0",)), addition("Has a dog.", id="n2")))


@pytest.mark.parametrize(
    ("verdict", "replaces", "repeats"),
    [("replaces", ("f0", "f1"), ""), ("same", ("f0",), "f1"), ("both", ("f0",), "")],
)
def test_only_the_addition_of_the_pair_is_settled(verdict: Verdict, replaces: tuple[str, ...], repeats: str) -> None:
    """What it replaced before, it still does."""
    settled, other = settle(CHANGED, {PAIR: verdict}, MEMORY, SLOTS).additions

    assert (settled.replaces, settled.repeats) == (replaces, repeats)
    assert other == CHANGED.additions[1]


UNRELATED = Conflict(known_id="f2", addition_id="n1")
CONTROL = Conflict(known_id="f3", addition_id="n1", is_control=True)
OTHERS = (fact("Likes jazz.", id="f2"), fact("Grows tomatoes.", id="f3"))


@pytest.mark.parametrize(
    ("control", "replaces"),
    [("both", ("f0", "f1", "f2")), ("replaces", ("f0", "f1")), ("same", ("f0", "f1"))],
)
def test_a_model_that_does_not_see_that_the_control_holds_replaces_only_what_is_restated(
    control: Verdict, replaces: tuple[str, ...]
) -> None:
    """The control itself is never replaced."""
    known = MemoryDocument(facts=(MEMORY.facts[0], fact("Cycles to the office.", id="f1"), *OTHERS))

    settled = settle(CHANGED, {UNRELATED: "replaces", CONTROL: control, PAIR: "replaces"}, known, SLOTS)

    assert sorted(settled.additions[0].replaces) == sorted(replaces)
    assert settled.additions[0].repeats == ""


verdicts = st.dictionaries(
    st.sampled_from([Conflict(known_id=known, addition_id=new) for known in ("f0", "f1") for new in ("n1", "n2")]),
    st.sampled_from(["replaces", "same", "both"]),
)


@given(verdicts)
def test_settling_changes_links_only_and_once(given: dict[Conflict, Verdict]) -> None:
    """Whatever the model says, and however often it is applied."""
    settled = settle(CHANGED, given, MEMORY, SLOTS)

    assert settle(settled, given, MEMORY, SLOTS) == settled
    plain = [one.model_copy(update={"replaces": (), "repeats": ""}) for one in CHANGED.additions]
    assert [one.model_copy(update={"replaces": (), "repeats": ""}) for one in settled.additions] == plain
    assert all(
        {*old.replaces} <= {*new.replaces} for old, new in zip(CHANGED.additions, settled.additions, strict=True)
    )


words = st.lists(
    st.sampled_from(["coffee", "tea", "bus", "now", "stopped", "instead", "Oslo", "咖啡", "不再"]), max_size=6
)


@given(st.lists(words, max_size=5), st.lists(words, max_size=3))
def test_a_conflict_is_between_a_known_fact_and_an_addition(known: list[list[str]], new: list[list[str]]) -> None:
    """Each pair once, and none twice."""
    facts = tuple(fact(" ".join(parts), id=f"f{number}") for number, parts in enumerate(known))
    additions = [quoted(" ".join(parts), " ".join(parts), id=f"n{number}") for number, parts in enumerate(new)]

    found = conflicts(*additions, facts=facts, said=". ".join(one.content for one in additions) or "Hm.")

    assert len(found) == len(set(found)) <= MAX_CONFLICTS
    assert {known_id for known_id, _ in found} <= {one.id for one in facts}
    assert {addition_id for _, addition_id in found} <= {one.id for one in additions}
