"""update_memory saves a change, and retries after conflicts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memgraph.editing import add_fact, remove_fact, update_memory
from memgraph.editing.update import remove_words
from memgraph.errors import EditError, RevisionConflictError
from memgraph.models import AsSaid, Episode, Evidence, Fact, MemoryDocument, PastFact, Scope
from memgraph.policy import Policy
from memgraph.storage import MemoryStorage, open_storage

ADA = Scope("ada")


def test_a_change_is_saved(tmp_path: Path) -> None:
    storage = open_storage(f"file:{tmp_path}")

    saved = update_memory(storage, ADA, lambda memory: add_fact(memory, "Likes tea."))

    assert storage.load(ADA) == saved
    assert json.loads((tmp_path / "users/ada/memory.json").read_text())["revision"] == 1


def test_an_unchanged_memory_is_not_saved() -> None:
    storage = open_storage("memory:")

    assert update_memory(storage, ADA, lambda memory: memory).revision == 0
    assert list(storage.scopes()) == []


@pytest.mark.parametrize("meanwhile", ["saved", "deleted"])
def test_a_change_is_retried_after_a_conflict(meanwhile: str) -> None:
    storage = open_storage("memory:")
    revisions: list[int] = []

    def change(memory: MemoryDocument) -> MemoryDocument:
        revisions.append(memory.revision)
        if len(revisions) == 1:
            _ = storage.save(ADA, memory) if meanwhile == "saved" else storage.delete(ADA)
        return add_fact(memory, "Likes tea.")

    saved = update_memory(storage, ADA, change)

    assert revisions == [0, 1]
    assert [fact.content for fact in saved.facts] == ["Likes tea."]


def test_a_retry_reloads_the_memory() -> None:
    """`load` may return a cached revision, with which every attempt would conflict."""

    class CachingStorage(MemoryStorage):
        inner = open_storage("memory:")
        cached: MemoryDocument | None = None

        def load(self, scope: Scope) -> MemoryDocument:
            self.cached = self.cached or self.inner.load(scope)
            return self.cached

        def reload(self, scope: Scope) -> MemoryDocument:
            return self.inner.load(scope)

        def save(self, scope: Scope, memory: MemoryDocument) -> MemoryDocument:
            return self.inner.save(scope, memory)

    storage = CachingStorage()
    storage.load(ADA)
    storage.inner.save(ADA, add_fact(MemoryDocument(), "Has a dog."))

    saved = update_memory(storage, ADA, lambda memory: add_fact(memory, "Likes tea."))

    assert [fact.content for fact in saved.facts] == ["Has a dog.", "Likes tea."]


def test_retries_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    storage = open_storage("memory:")
    monkeypatch.setattr("memgraph.editing.update.MAX_ATTEMPTS", 3)

    def change(memory: MemoryDocument) -> MemoryDocument:
        storage.save(ADA, memory)
        return add_fact(memory, "Likes tea.")

    with pytest.raises(RevisionConflictError):
        update_memory(storage, ADA, change)


def test_a_rejected_change_saves_nothing() -> None:
    storage = open_storage("memory:")

    with pytest.raises(EditError):
        update_memory(storage, ADA, lambda memory: remove_fact(memory, "fact_1"))

    assert list(storage.scopes()) == []


def test_the_words_that_only_a_removed_fact_rests_on_are_removed() -> None:
    """Recall would find the fact in them; those of another fact stay, as do those of none."""
    storage = open_storage("memory:")
    episodes = [Episode(id=f"e{number}", text=f"Sentence {number}.") for number in range(3)]
    storage.append_episodes(ADA, episodes, Policy())
    own, shared = Evidence(episode="e0", quote="Sentence 0"), Evidence(episode="e1", quote="Sentence 1")
    removed = Fact(id="f1", content="Likes tea.", evidence=(own, shared))
    memory = MemoryDocument(facts=(Fact(id="f2", content="Likes rain.", evidence=(shared,)),))

    words = remove_words(storage, ADA, memory, removed, Policy())

    assert (words.removed, words.kept) == ((episodes[0],), (episodes[1],))
    assert list(storage.episodes(ADA)) == episodes[1:]


def test_only_the_sentences_that_a_removed_fact_rests_on_are_removed_from_a_message() -> None:
    """What another fact rests on in the same message stays, as does what no fact rests on."""
    storage = open_storage("memory:")
    said = Episode(id="e1", at="2026-05-01T10:00:00Z", text="I play trombone. Ruth is my sister. We meet on Sundays.")
    storage.append_episodes(ADA, [said], Policy())
    trombone, ruth = (Evidence(episode="e1", quote=quote) for quote in ("play trombone", "Ruth is my sister"))
    removed = Fact(id="f1", content="Plays trombone.", evidence=(trombone,))
    memory = MemoryDocument(facts=(Fact(id="f2", content="Sister Ruth.", evidence=(ruth,)),))

    words = remove_words(storage, ADA, memory, removed, Policy())

    assert [episode.text for episode in words.removed] == ["I play trombone."]
    rest = said.model_copy(update={"text": "Ruth is my sister. We meet on Sundays."})
    assert (words.kept, storage.episodes(ADA)) == ((), (rest,))


def test_a_sentence_that_was_said_twice_goes_with_its_fact() -> None:
    """The fact rests on one of them; recall would find it in the other."""
    storage = open_storage("memory:")
    said = [Episode(id="e1", text="I play trombone."), Episode(id="e2", text="I play  Trombone. It rains.")]
    storage.append_episodes(ADA, said, Policy())
    removed = Fact(id="f1", content="Plays trombone.", evidence=(Evidence(episode="e1", quote="play trombone"),))

    remove_words(storage, ADA, MemoryDocument(), removed, Policy())

    assert [episode.text for episode in storage.episodes(ADA)] == ["It rains."]


SMALL = Policy(max_facts=10)


def fill(source: str, count: int = 10) -> MemoryDocument:
    return MemoryDocument(facts=tuple(Fact(id=f"fact_{n}", content=f"Fact {n}.", source=source) for n in range(count)))


def test_a_person_adds_up_to_max_facts() -> None:
    storage = open_storage("memory:")
    storage.save(ADA, fill("manual"))

    with pytest.raises(EditError, match="max_facts allows 10"):
        update_memory(storage, ADA, lambda memory: add_fact(memory, "Likes tea."), policy=SMALL)

    assert len(storage.load(ADA).facts) == 10


@pytest.mark.parametrize(
    ("field", "kind", "setting"), [("past", PastFact, "max_past_facts"), ("as_said", AsSaid, "max_as_said")]
)
def test_past_facts_and_claims_have_limits_too(field: str, kind: type[Fact], setting: str) -> None:
    """An import brings as many as it likes."""
    storage, policy = open_storage("memory:"), Policy(**{setting: 10})
    many = tuple(kind(id=f"f{number}", content=f"Fact {number}.") for number in range(11))

    with pytest.raises(EditError, match=f"{setting} allows 10"):
        update_memory(storage, ADA, lambda memory: memory.model_copy(update={field: many}), policy=policy)

    assert storage.load(ADA).is_empty


def test_what_updates_learned_leaves_room_for_a_person() -> None:
    storage = open_storage("memory:")
    storage.save(ADA, fill("t1"))

    assert len(update_memory(storage, ADA, lambda memory: add_fact(memory, "Likes tea."), policy=SMALL).facts) == 11


def test_a_memory_beyond_its_limits_can_be_made_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits may have been raised when it was stored, or not have existed."""
    storage = open_storage("memory:")
    storage.save(ADA, fill("manual", 30))
    monkeypatch.setattr("memgraph.editing.update.MAX_DOCUMENT_BYTES", 100)

    update_memory(storage, ADA, lambda memory: remove_fact(memory, "fact_3"), policy=SMALL)

    assert len(storage.load(ADA).facts) == 29


def test_a_document_does_not_grow_beyond_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys that no release knows are kept, so they count."""
    storage = open_storage("memory:")
    monkeypatch.setattr("memgraph.editing.update.MAX_DOCUMENT_BYTES", 2_000)
    unknown = MemoryDocument.model_validate({"facts": [], "x": "a" * 2_000})

    with pytest.raises(EditError, match="at most 2,000 are possible"):
        update_memory(storage, ADA, lambda _: unknown)

    assert list(storage.scopes()) == []
