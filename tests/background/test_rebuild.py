"""A memory is learned again from its episodes; what a person decided stays."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from langchain_core.messages import BaseMessage, HumanMessage

from memgraph import Context, Fact, MemoryClient, MemoryDocument, ModelError, Policy, Scope, Settings, build_graph
from memgraph.analysis.marks import BY_TOOL_KEY
from memgraph.background.rebuild import Rebuilder
from memgraph.editing import add_fact, edit_fact, edit_section, remove_fact, update_memory
from memgraph.editing.history import discard_rebuild, iterate_revisions
from memgraph.history.rebuild import rebuild_progress, rebuild_scope
from memgraph.models import Episode, Evidence
from memgraph.storage.memory import InMemoryStorage
from memgraph.testing import ScriptedModel, update_answer

ADA = Scope("ada")
SETTINGS = Settings(retry_wait_seconds=0, model_tries=1)
TURN = re.compile(r"<turn (\d+) user>(.*?)</turn>")


def repeat(messages: Sequence[BaseMessage]) -> str:
    """Learn each of the user's messages as a fact."""
    turns = TURN.findall(str(messages[-1].content))
    return update_answer(
        *(
            {"content": text, "quote": text, "turn": int(number), "slot": "home" if "live" in text else ""}
            for number, text in turns
        )
    )


class Conversations(NamedTuple):
    """A memory that learned from conversations by a model."""

    storage: InMemoryStorage
    model: ScriptedModel

    def say(self, thread: str, *texts: str, day: int = 1) -> None:
        """Learn *texts*, said on a day of May 2026 in *thread*."""
        at = datetime(2026, 5, day, 10, tzinfo=UTC)
        messages = [HumanMessage(text, id=f"{thread}-{day}-{index}") for index, text in enumerate(texts)]
        graph = build_graph(model=self.model, storage=self.storage)
        graph.invoke({"messages": messages}, context=Context(user_id="ada", thread_id=thread, at=at))

    @property
    def memory(self) -> MemoryDocument:
        return self.storage.load(ADA)

    @property
    def contents(self) -> list[str]:
        return [fact.content for fact in self.memory.facts]

    def edit(self, change: Any) -> MemoryDocument:
        return update_memory(self.storage, ADA, change)

    def rebuilder(self, *answers: Any) -> Rebuilder:
        return Rebuilder(self.storage, ADA, SETTINGS, ScriptedModel(*(answers or (repeat,))))

    def rebuild(self, *answers: Any) -> None:
        rebuilder = self.rebuilder(*answers)
        rebuilder.learn()
        rebuilder.replace()

    @property
    def unfinished(self) -> MemoryDocument:
        return self.storage.load(rebuild_scope(ADA))


@pytest.fixture
def talks() -> Iterator[Conversations]:
    with InMemoryStorage() as storage:
        yield Conversations(storage, ScriptedModel(repeat))


def test_the_same_model_learns_the_same_memory_again(talks: Conversations) -> None:
    """Ids, times, evidence and watermarks included: nothing is saved."""
    talks.say("t1", "I like tea.", "I live in Lisbon.", day=1)
    talks.say("t2", "I have a dog.", day=2)
    talks.say("t1", "I like tea.", "I play chess.", day=3)
    before = talks.memory

    talks.rebuild()

    assert talks.memory == before


def test_another_model_replaces_what_the_first_one_learned(talks: Conversations) -> None:
    talks.say("t1", "I like tea.", "I have a dog.")

    talks.rebuild(update_answer({"content": "The user drinks tea.", "quote": "I like tea.", "turn": 1}))

    assert talks.contents == ["The user drinks tea."]


def test_nothing_is_changed_before_it_is_replaced(talks: Conversations) -> None:
    talks.say("t1", "I like tea.")
    before = talks.memory

    rebuild = talks.rebuilder(update_answer()).learn()

    assert talks.memory == before
    assert [(change.before, change.after) for change in rebuild.changes.facts] == [(before.facts[0], None)]


def test_a_rebuild_is_one_revision_that_can_be_undone(talks: Conversations) -> None:
    talks.say("t1", "I like tea.", day=1)
    talks.say("t2", "I have a dog.", day=2)
    before = talks.memory

    talks.rebuild(update_answer())
    newest = next(iterate_revisions(talks.storage, ADA))
    MemoryClient(talks.storage, user_id="ada").undo()

    assert (newest.by, newest.revision) == ("rebuild", before.revision + 1)
    assert talks.memory.facts == before.facts


def test_what_a_person_wrote_or_edited_stays(talks: Conversations) -> None:
    """The wording before the edit does not return."""
    talks.say("t1", "I like tea.", "I have a dog.")
    talks.edit(lambda memory: edit_fact(memory, memory.facts[0].id, content="Likes green tea."))
    talks.edit(lambda memory: add_fact(memory, "Owns a ship."))

    talks.rebuild()

    assert talks.contents == ["Likes green tea.", "I have a dog.", "Owns a ship."]


def test_what_a_person_removed_does_not_return(talks: Conversations) -> None:
    talks.say("t1", "I like tea.", "I have a dog.")
    talks.edit(lambda memory: remove_fact(memory, memory.facts[0].id))

    talks.rebuild()

    assert talks.contents == ["I have a dog."]


def test_what_was_undone_or_reverted_does_not_return(talks: Conversations) -> None:
    talks.say("t1", "I like tea.", day=1)
    talks.say("t2", "I have a dog.", day=2)
    talks.say("t3", "I play chess.", day=3)
    MemoryClient(talks.storage, user_id="ada").undo()
    MemoryClient(talks.storage, user_id="ada").revert(thread_id="t1")

    talks.rebuild()

    assert talks.contents == ["I have a dog."]


def test_what_a_revert_made_current_and_its_undo_ended_again_stays_past(talks: Conversations) -> None:
    """It was moved, not removed."""
    talks.say("may", "I live in Gothenburg.", day=1)
    talks.say("june", "I live in Malmö now.", day=20)
    MemoryClient(talks.storage, user_id="ada").revert(thread_id="june")
    MemoryClient(talks.storage, user_id="ada").undo()
    before = talks.memory

    talks.rebuild()

    assert [fact.content for fact in before.past] == ["I live in Gothenburg."]
    assert talks.memory.past == before.past


TAKEN_BACK: dict[str, Callable[[MemoryClient], object]] = {
    "reverted": lambda client: client.revert(thread_id="t2"),
    "undone": lambda client: client.undo(),
}


@pytest.mark.parametrize("how", TAKEN_BACK)
def test_what_had_ended_by_words_that_were_taken_back_stays_current(talks: Conversations, how: str) -> None:
    """The replay reads those words again, and ends it once more."""
    talks.say("t1", "I live in Gothenburg.", "I have a dog.", day=1)
    talks.say("t2", "I live in Malmö now.", day=20)
    TAKEN_BACK[how](MemoryClient(talks.storage, user_id="ada"))
    before = talks.memory

    talks.rebuild()

    assert (talks.memory.facts, talks.memory.past) == (before.facts, ())
    assert sorted(talks.contents) == ["I have a dog.", "I live in Gothenburg."]


def test_what_something_that_was_not_taken_back_ended_stays_past(talks: Conversations) -> None:
    """Only the second of three homes was taken back, and only the last one may be current."""
    talks.say("t1", "I live in Gothenburg.", day=1)
    talks.say("t2", "I live in Malmö now.", day=10)
    MemoryClient(talks.storage, user_id="ada").revert(thread_id="t2")
    talks.say("t3", "I live in Lund these days.", day=20)

    talks.rebuild()

    assert talks.contents == ["I live in Lund these days."]
    assert [fact.content for fact in talks.memory.past] == ["I live in Gothenburg."]


@pytest.mark.parametrize("how", TAKEN_BACK)
def test_a_removal_that_was_taken_back_stays_so(how: str, tmp_path: Path) -> None:
    with MemoryClient(f"file:{tmp_path}", user_id="ada", model="offline") as client:
        client.add("I live in Lisbon. I sing in a choir.", thread_id="t1")
        client.add("I no longer sing in a choir.", thread_id="t2")
        TAKEN_BACK[how](client)
        before = client.get()

        client.rebuild()

        assert len(before.facts) == 2
        assert client.get().facts == before.facts


def test_a_summary_that_a_person_wrote_stays_and_others_are_replaced(talks: Conversations) -> None:
    talks.say("t1", "I like tea.")
    talks.edit(lambda memory: edit_section(memory, "work_context", "Baker."))
    talks.edit(lambda memory: edit_section(memory, "top_of_mind", ""))

    talks.rebuild(update_answer("I like tea.", workContext="Likes tea.", personalContext="Likes tea."))

    summaries = {name: section.summary for name, section in talks.memory.sections() if section.summary}
    assert summaries == {"work_context": "Baker.", "personal_context": "Likes tea."}


def test_what_no_episode_can_teach_again_stays(talks: Conversations) -> None:
    """An imported fact, and one whose words are not kept any more."""
    talks.say("t1", "I like tea.")
    imported = Fact(content="Has a cat.", source="mem0")
    older = Fact(content="Has a car.", source="t1", evidence=(Evidence(episode="gone", quote="I have a car."),))
    talks.edit(lambda memory: memory.with_facts((*memory.facts, imported, older)))

    talks.rebuild(update_answer())

    assert talks.contents == ["Has a cat.", "Has a car."]


def test_what_is_learned_meanwhile_from_other_episodes_stays(talks: Conversations) -> None:
    talks.say("t1", "I like tea.", day=1)
    rebuilder = talks.rebuilder(update_answer())
    rebuilder.learn()
    talks.say("t2", "I have a dog.", day=2)

    rebuilder.replace()

    assert talks.contents == ["I have a dog."]


def test_a_rebuild_that_was_stopped_goes_on_after_the_last_session(talks: Conversations) -> None:
    """What was learned is paid for once."""
    for day, text in enumerate(("I like tea.", "I have a dog.", "I play chess."), 1):
        talks.say(f"t{day}", text, day=day)
    with pytest.raises(ModelError):
        talks.rebuilder(repeat, ConnectionError("down")).learn()
    model, steps = ScriptedModel(repeat), list[tuple[int, int]]()
    rebuilder = Rebuilder(talks.storage, ADA, SETTINGS, model)

    rebuilder.learn(lambda done, total: steps.append((done, total)))
    rebuilder.replace()

    assert (len(model.asked), steps) == (2, [(1, 3), (2, 3), (3, 3)])
    assert talks.contents == ["I like tea.", "I have a dog.", "I play chess."]


def test_a_finished_rebuild_is_replaced_without_asking_the_model_again(talks: Conversations) -> None:
    """A dry run shows what another run takes over."""
    talks.say("t1", "I like tea.")
    talks.rebuilder(update_answer()).learn()
    model = ScriptedModel(repeat)

    rebuilder = Rebuilder(talks.storage, ADA, SETTINGS, model)
    rebuilder.learn()
    rebuilder.replace()

    assert (talks.contents, len(model.asked)) == ([], 0)


def test_a_rebuild_begins_again_if_an_episode_was_removed(talks: Conversations) -> None:
    """What rests on it must not come back."""
    talks.say("t1", "I like tea.", day=1)
    talks.say("t2", "I have a dog.", day=2)
    talks.rebuilder().learn()
    first = talks.storage.episodes(ADA)[0]
    talks.edit(lambda memory: remove_fact(memory, memory.facts[0].id))
    talks.storage.remove_episodes(ADA, [first.id])

    rebuilder = talks.rebuilder()
    rebuilder.learn()

    assert "tea" not in talks.unfinished.model_dump_json()


def test_the_document_of_a_rebuild_is_deleted_when_it_has_replaced_the_memory(talks: Conversations) -> None:
    talks.say("t1", "I like tea.")
    rebuilder = talks.rebuilder()
    rebuilder.learn()
    assert rebuild_progress(talks.unfinished) is not None

    rebuilder.replace()

    assert list(talks.storage.scopes()) == [ADA]


def test_an_unfinished_rebuild_can_be_discarded(talks: Conversations) -> None:
    talks.say("t1", "I like tea.")
    talks.rebuilder().learn()

    discard_rebuild(talks.storage, ADA)

    assert list(talks.storage.scopes()) == [ADA]


def test_a_long_message_is_learned_as_one_with_its_times(talks: Conversations) -> None:
    """Its episodes are parts of it."""
    at = "2026-05-01T10:00:00Z"
    parts = [Episode(id=f"e-{n}", thread_id="t1", message_id="m1", at=at, text=f"I like tea {n}.") for n in (1, 2)]
    talks.storage.append_episodes(ADA, parts, Policy())
    model = ScriptedModel(update_answer({"content": "Likes tea 2.", "quote": "I like tea 2.", "turn": 1}))
    rebuilder = Rebuilder(talks.storage, ADA, SETTINGS, model)

    rebuilder.learn()
    rebuilder.replace()

    assert "I like tea 1.\nI like tea 2." in str(model.asked[0][-1].content)
    assert [(fact.content, fact.said_at) for fact in talks.memory.facts] == [("Likes tea 2.", at)]


def test_words_that_a_tool_reported_prove_nothing_in_a_rebuild(talks: Conversations) -> None:
    """In one thread with the user's own words, too: a rebuild must not turn the report into what the user said."""
    talks.say("t1", "I keep bees.")
    report = HumanMessage("I grow figs.", id="r1", additional_kwargs={BY_TOOL_KEY: True})
    graph = build_graph(model=talks.model, storage=talks.storage)
    graph.invoke({"messages": [report]}, context=Context(user_id="ada", thread_id="t1"))

    talks.rebuild()

    assert {fact.content: fact.origin for fact in talks.memory.facts} == {"I keep bees.": None, "I grow figs.": "tool"}
