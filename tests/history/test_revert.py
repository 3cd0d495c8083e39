"""What was learned in a thread, or since a date, is taken back; what rests on something else stays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memgraph import MemoryClient
from memgraph.analysis.dates import since
from memgraph.editing import edit_fact, edit_section, update_memory
from memgraph.editing.history import find_revision
from memgraph.errors import EditError
from memgraph.history.diff import EntryConflict
from memgraph.history.revert import Source, revert
from memgraph.models import (
    Addition,
    ChangeOrigin,
    Episode,
    Evidence,
    Fact,
    MemoryDocument,
    MemoryUpdate,
    PendingChange,
    Removal,
    Rewrite,
    Scope,
)
from memgraph.policy import Policy
from memgraph.rules.apply import apply
from memgraph.storage.document import encode
from memgraph.storage.memory import InMemoryStorage

ADA = Scope("ada")
AT = "2026-11-01T00:00:00Z"
POLICY = Policy(grounding="off")


class Talk:
    """A memory that learns from threads, with the words that its facts rest on."""

    def __init__(self) -> None:
        self.storage = InMemoryStorage()
        self._number = 0

    def learn(self, thread: str, *contents: str, at: str = "2026-05-01T10:00:00Z", **changes: Any) -> MemoryDocument:
        """Learn *contents* from a message of *thread*."""
        self._number += 1
        message = f"m{self._number}"
        episode = Episode(id=f"e{self._number}", thread_id=thread, message_id=message, at=at, text=" ".join(contents))
        self.storage.append_episodes(ADA, [episode], POLICY)
        additions = tuple(
            Addition(
                id=f"f{self._number}-{index}",
                content=content,
                confidence=0.9,
                said_at=at,
                replaces=tuple(changes.get("replaces", ())),
                evidence=(Evidence(episode=episode.id, quote=f"{content} {message}"),),
            )
            for index, content in enumerate(contents)
        )
        update = MemoryUpdate(
            at=at,
            thread=thread,
            message_ids=(message,),
            additions=additions,
            removals=tuple(Removal(id=fact_id) for fact_id in changes.get("removals", ())),
            rewrites=tuple(
                Rewrite(section="work_context", summary=summary, base=self.memory.section("work_context").summary)
                for summary in changes.get("summaries", ())
            ),
        )
        origin = ChangeOrigin(by="update", thread=thread)
        return update_memory(self.storage, ADA, lambda memory: apply(update, memory, POLICY).memory, origin=origin)

    @property
    def memory(self) -> MemoryDocument:
        return self.storage.load(ADA)

    @property
    def contents(self) -> list[str]:
        return [fact.content for fact in self.memory.facts]

    def id_of(self, content: str) -> str:
        return next(fact.id for fact in self.memory.facts if fact.content == content)


@pytest.fixture
def talk() -> Talk:
    return Talk()


def test_what_rests_only_on_a_thread_is_gone(talk: Talk) -> None:
    talk.learn("t1", "Likes tea.")
    talk.learn("t2", "Has a dog.")
    talk.learn("t1", "Plays chess.")

    MemoryClient(talk.storage, user_id="ada").revert(thread_id="t1")

    assert talk.contents == ["Has a dog."]


def test_a_fact_with_other_evidence_stays_with_less_of_it(talk: Talk) -> None:
    talk.learn("t1", "Likes tea.", at="2026-05-01T10:00:00Z")
    talk.learn("t2", "Likes tea.", at="2026-05-02T10:00:00Z")
    talk.learn("t1", "Likes tea.", at="2026-05-03T10:00:00Z")

    MemoryClient(talk.storage, user_id="ada").revert(thread_id="t1")

    (fact,) = talk.memory.facts
    assert [one.episode for one in fact.evidence] == ["e2"]
    assert (fact.source, fact.said_at, fact.confirmations) == ("t2", "2026-05-02T10:00:00Z", 0)


def test_a_fact_that_was_confirmed_elsewhere_stays_although_those_words_are_not_kept(talk: Talk) -> None:
    """A fact keeps at most three quotes, so later ones are counted only."""
    for day in (1, 2, 3):
        talk.learn("t1", "Likes tea.", at=f"2026-05-0{day}T10:00:00Z")
    talk.learn("t2", "Likes tea.", at="2026-05-04T10:00:00Z")

    MemoryClient(talk.storage, user_id="ada").revert(thread_id="t1")

    assert [(fact.content, fact.source, fact.evidence) for fact in talk.memory.facts] == [("Likes tea.", "t2", ())]


def test_what_was_superseded_in_a_thread_is_current_again(talk: Talk) -> None:
    talk.learn("t1", "Lives in Lisbon.")
    talk.learn("t2", "Lives in Porto.", replaces=[talk.id_of("Lives in Lisbon.")])

    MemoryClient(talk.storage, user_id="ada").revert(thread_id="t2")

    assert (talk.contents, talk.memory.past) == (["Lives in Lisbon."], ())


def test_what_was_removed_in_a_thread_is_current_again(talk: Talk) -> None:
    talk.learn("t1", "Likes tea.")
    talk.learn("t2", "Has a dog.", removals=[talk.id_of("Likes tea.")])

    MemoryClient(talk.storage, user_id="ada").revert(thread_id="t2")

    assert talk.contents == ["Likes tea."]


def test_what_something_later_superseded_stays_past(talk: Talk) -> None:
    """Without the thread, the later fact would have followed the first one."""
    talk.learn("t1", "Lives in Lisbon.")
    talk.learn("t2", "Lives in Porto.", replaces=[talk.id_of("Lives in Lisbon.")])
    talk.learn("t3", "Lives in Faro.", replaces=[talk.id_of("Lives in Porto.")])

    MemoryClient(talk.storage, user_id="ada").revert(thread_id="t2")

    faro = talk.id_of("Lives in Faro.")
    assert talk.contents == ["Lives in Faro."]
    assert [(fact.content, fact.ended_by) for fact in talk.memory.past] == [("Lives in Lisbon.", faro)]


def test_what_a_person_wrote_stays(talk: Talk) -> None:
    talk.learn("t1", "Likes tea.", "Has a dog.")
    update_memory(talk.storage, ADA, lambda memory: edit_fact(memory, memory.facts[0].id, content="Likes green tea."))

    MemoryClient(talk.storage, user_id="ada").revert(thread_id="t1")

    assert talk.contents == ["Likes green tea."]


def test_a_summary_of_a_thread_is_as_before(talk: Talk) -> None:
    talk.learn("t1", "Is a baker.", summaries=["The user is a baker."])
    talk.learn("t2", "Owns a ship.", summaries=["The user is a captain."])

    MemoryClient(talk.storage, user_id="ada").revert(thread_id="t2")

    assert talk.memory.section("work_context").summary == "The user is a baker."


def test_a_summary_that_was_continued_loses_the_sentences_of_the_thread(talk: Talk) -> None:
    talk.learn("t1", "Owns a ship.", summaries=["The user is a captain."])
    talk.learn("t2", "Has a dog.", summaries=["The user is a captain. The dog is on board."])

    done = MemoryClient(talk.storage, user_id="ada").revert(thread_id="t1")

    assert talk.memory.section("work_context").summary == "The dog is on board."
    assert done.conflicts == ()


def test_a_summary_that_was_reworded_since_is_reported(talk: Talk) -> None:
    talk.learn("t1", "Owns a ship.", summaries=["The user is a captain."])
    update_memory(talk.storage, ADA, lambda memory: edit_section(memory, "work_context", "Sails the seas."))

    done = MemoryClient(talk.storage, user_id="ada").revert(thread_id="t1")

    assert talk.memory.section("work_context").summary == "Sails the seas."
    assert done.conflicts == (EntryConflict("section", "work_context", "it was changed since"),)


def test_what_was_learned_since_a_date_is_gone(talk: Talk) -> None:
    """Without a history, the time of the words counts."""
    talk.learn("t1", "Likes tea.", at="2026-05-01T10:00:00Z")
    talk.learn("t1", "Likes tea.", "Has a dog.", at="2026-06-01T10:00:00Z")
    episodes = talk.storage.episodes(ADA)

    done = revert(talk.memory, (), episodes, Source(is_since=since("2026-06")), at=AT)

    (fact,) = done.memory.facts
    assert (fact.content, [one.episode for one in fact.evidence]) == ("Likes tea.", ["e1"])


def test_an_import_since_a_date_is_taken_back_however_old_its_words(talk: Talk) -> None:
    old = Fact(id="old", content="Likes tea.", source="mem0", created_at="2024-01-01T00:00:00Z")
    origin = ChangeOrigin(by="import")
    update_memory(talk.storage, ADA, lambda memory: memory.with_facts((old,)), origin=origin)

    MemoryClient(talk.storage, user_id="ada").revert(since=talk.storage.revisions(ADA)[0].at)

    assert talk.contents == []


def test_changes_in_quarantine_that_come_from_the_thread_are_gone(talk: Talk) -> None:
    held = [PendingChange(id=f"q{name}", facts=(Fact(content="Owns a ship.", source=name),)) for name in ("t1", "t2")]

    done = revert(MemoryDocument(pending=tuple(held)), (), (), Source(thread="t1"), at=AT)

    assert [item.id for item in done.memory.pending] == ["qt2"]


def test_a_dangling_end_does_not_make_a_past_fact_current(talk: Talk) -> None:
    """A person may have deleted the fact that followed it; that has nothing to do with the thread."""
    talk.learn("t1", "Lives in Lisbon.")
    talk.learn("t2", "Lives in Porto.", replaces=[talk.id_of("Lives in Lisbon.")])
    update_memory(talk.storage, ADA, lambda memory: memory.with_facts(()))
    talk.learn("t3", "Has a dog.")

    MemoryClient(talk.storage, user_id="ada").revert(thread_id="t3")

    assert (talk.contents, [fact.content for fact in talk.memory.past]) == ([], ["Lives in Lisbon."])


def test_a_revert_is_one_revision_that_can_be_undone(talk: Talk) -> None:
    talk.learn("t1", "Likes tea.", "Has a dog.", summaries=["The user likes tea."])
    talk.learn("t2", "Plays chess.", removals=[talk.id_of("Has a dog.")])
    before = talk.memory

    done = MemoryClient(talk.storage, user_id="ada").revert(thread_id="t1")
    entry = find_revision(talk.storage, ADA, None)
    MemoryClient(talk.storage, user_id="ada").undo()

    assert (entry.revision, entry.by, entry.thread) == (done.memory.revision, "revert", "t1")
    assert without_times(talk.memory) == without_times(before)


def test_turns_stay_learned(talk: Talk) -> None:
    talk.learn("t1", "Likes tea.")
    threads = talk.memory.threads

    MemoryClient(talk.storage, user_id="ada").revert(thread_id="t1")

    assert talk.memory.threads == threads


def test_nothing_is_saved_if_nothing_comes_from_the_thread(talk: Talk) -> None:
    talk.learn("t1", "Likes tea.")

    done = MemoryClient(talk.storage, user_id="ada").revert(thread_id="t9")

    assert (done.memory.revision, done.changes.has_content) == (1, False)


@pytest.mark.parametrize(
    "source", [{}, {"thread_id": "t1", "since": "2026"}, {"since": "soon"}, {"thread_id": ""}, {"since": ""}]
)
def test_a_source_that_is_not_one_is_refused(talk: Talk, source: dict[str, str]) -> None:
    with pytest.raises(EditError):
        MemoryClient(talk.storage, user_id="ada").revert(**source)


def without_times(memory: MemoryDocument) -> bytes:
    return encode(memory.model_copy(update={"revision": 0, "last_updated": ""}))


CONTENTS = ("Likes tea.", "Has a dog.", "Plays chess.", "Owns a ship.")
Step = tuple[str, str, str]


@settings(max_examples=20, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["t1", "t2"]), st.sampled_from(CONTENTS), st.sampled_from(CONTENTS)), max_size=12
    )
)
def test_without_a_thread_the_memory_knows_what_the_others_said(steps: Sequence[Step]) -> None:
    """It is as if the thread had never been, whoever said something first, and whatever the thread contradicted."""
    talk, others = Talk(), Talk()
    for second, (thread, content, contradicted) in enumerate(steps):
        at = f"2026-05-01T10:00:{second:02}Z"
        known = {fact.content: fact.id for fact in talk.memory.facts if fact.content != content}
        removals = [known[contradicted]] if thread == "t1" and contradicted in known else []
        talk.learn(thread, content, at=at, removals=removals)
        if thread == "t2":
            others.learn(thread, content, at=at)

    MemoryClient(talk.storage, user_id="ada").revert(thread_id="t1")

    assert sorted(talk.contents) == sorted(others.contents)
