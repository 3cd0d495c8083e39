"""MemoryClient and AsyncMemoryClient: what a script learns, finds and edits in a few calls."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.messages import HumanMessage
from pydantic import Field

from memgraph import (
    AsyncMemoryClient,
    ConversationError,
    EditError,
    Fact,
    IdentityError,
    MemoryClient,
    MemoryDocument,
    ModelError,
    Scope,
    ScoredFact,
    Settings,
    open_storage,
)
from memgraph._cache import LRUCache
from memgraph.models import Section
from memgraph.storage.backups import Backups, new_name
from memgraph.testing import ScriptedModel, update_answer

LISBON = {"quote": "I live in Lisbon", "content": "Lives in Lisbon.", "category": "context", "turn": 1}
TEA = {"quote": "I prefer tea", "content": "Prefers tea.", "category": "preference", "turn": 1}
NOTHING = json.dumps({"newFacts": []})


class RecordingEmbeddings(DeterministicFakeEmbedding):
    """Keeps the texts that it embeds."""

    texts: list[str] = Field(default_factory=list[str])

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector a text."""
        self.texts.extend(texts)
        return super().embed_documents(texts)


def settings_in(folder: Path) -> Settings:
    outbox, backups = f"sqlite:{folder / 'outbox.db'}", str(folder / "backups")
    return Settings(outbox=outbox, api_backups=backups, retry_wait_seconds=0, model_tries=1)


def client_in(folder: Path, *answers: str | Exception, user_id: str | None = "ada") -> MemoryClient:
    model = ScriptedModel(*(answers or (update_answer(LISBON),)))
    return MemoryClient(f"file:{folder / 'memory'}", model=model, user_id=user_id, settings=settings_in(folder))


@pytest.fixture
def client(tmp_path: Path) -> Iterator[MemoryClient]:
    with client_in(tmp_path) as opened:
        yield opened


def test_add_learns_before_it_returns(client: MemoryClient) -> None:
    report = client.add("I live in Lisbon")
    assert [fact.content for fact in report.added] == ["Lives in Lisbon."]
    assert [fact.content for fact in client.facts()] == ["Lives in Lisbon."]


def test_what_one_client_learned_the_next_one_knows(tmp_path: Path) -> None:
    with client_in(tmp_path) as first:
        first.add("I live in Lisbon")
    with client_in(tmp_path) as second:
        assert "Lives in Lisbon." in second.context("Where do I live?")


def test_the_same_text_said_again_on_another_day_is_a_confirmation(client: MemoryClient) -> None:
    client.add("I live in Lisbon", at=datetime(2026, 3, 1, tzinfo=UTC))
    client.add("I live in Lisbon", at=datetime(2026, 3, 2, tzinfo=UTC))
    assert [fact.confirmations for fact in client.facts()] == [1]


def test_a_conversation_added_again_is_learned_once(client: MemoryClient) -> None:
    conversation = [("user", "I live in Lisbon"), ("assistant", "Noted.")]
    client.add(conversation, thread_id="t1")
    assert client.add(conversation, thread_id="t1").added == ()
    assert [fact.confirmations for fact in client.facts()] == [0]


def test_a_conversation_file_is_learned_with_its_times(client: MemoryClient, tmp_path: Path) -> None:
    file = tmp_path / "talk.json"
    file.write_text(json.dumps({"date": "2023-05-08", "messages": [{"role": "user", "content": "I live in Lisbon"}]}))
    client.add(file)
    assert [fact.said_at[:10] for fact in client.facts()] == ["2023-05-08"]


def test_a_text_may_have_been_said_in_the_past(client: MemoryClient) -> None:
    client.add("I live in Lisbon", at=datetime(2023, 5, 8, tzinfo=UTC))
    assert [episode.at[:10] for episode in client.episodes()] == ["2023-05-08"]


def test_a_file_that_is_not_there_is_named(client: MemoryClient, tmp_path: Path) -> None:
    with pytest.raises(ConversationError, match=r"missing\.json cannot be read"):
        client.add(tmp_path / "missing.json")


def test_adding_in_the_background_returns_before_anything_is_learned(tmp_path: Path) -> None:
    with client_in(tmp_path) as client:
        report = client.add("I live in Lisbon", background=True)
        assert (report.added, client.facts()) == ((), ())
        assert client.flush(60)
        assert [fact.content for fact in client.facts()] == ["Lives in Lisbon."]


def test_what_is_learned_in_the_background_is_embedded_by_the_model_of_the_client(tmp_path: Path) -> None:
    """Before a question asks for it."""
    embeddings = RecordingEmbeddings(size=8)
    model, settings = ScriptedModel(update_answer(LISBON)), settings_in(tmp_path)
    with MemoryClient(f"file:{tmp_path}/memory", model=model, settings=settings, embeddings=embeddings) as client:
        client.add("I live in Lisbon", user_id="ada", background=True)

        client.flush(60)

        assert "Lives in Lisbon." in embeddings.texts


def test_what_a_failing_model_did_not_learn_is_learned_later(tmp_path: Path) -> None:
    with client_in(tmp_path, RuntimeError("down")) as failing, pytest.raises(ModelError):
        failing.add("I live in Lisbon")
    with client_in(tmp_path) as client:
        assert client.flush(60)
        assert [fact.content for fact in client.facts()] == ["Lives in Lisbon."]


def test_search_returns_facts_and_episodes_the_best_first(tmp_path: Path) -> None:
    with client_in(tmp_path, update_answer(LISBON), update_answer(TEA), NOTHING) as client:
        for text in ("I live in Lisbon", "I prefer tea", "My bike is in Lisbon, too"):
            client.add(text)
        found = client.search("Lisbon")
    texts = [item.fact.content if isinstance(item, ScoredFact) else item.episode.text for item in found]
    assert sorted(texts) == ["I live in Lisbon", "Lives in Lisbon.", "My bike is in Lisbon, too"]
    assert [item.score for item in found] == sorted((item.score for item in found), reverse=True)


def test_search_returns_no_more_than_the_limit(client: MemoryClient) -> None:
    client.add("I live in Lisbon")
    assert len(client.search("Lisbon", limit=1)) == 1


def test_search_returns_nothing_that_does_not_match(client: MemoryClient) -> None:
    client.add("I live in Lisbon")
    assert client.search("quantum chromodynamics") == []


def test_the_context_keeps_within_its_budget(client: MemoryClient) -> None:
    client.add("I live in Lisbon")
    assert client.context("Where do I live?", max_tokens=20) == ""


def test_a_call_without_a_user_is_an_error(tmp_path: Path) -> None:
    with client_in(tmp_path, user_id=None) as client, pytest.raises(IdentityError, match="pass user_id"):
        client.facts()


def test_an_empty_user_is_not_that_of_the_client(client: MemoryClient) -> None:
    client.remember("Has a dog.")

    for call in (client.erase, client.forget, client.facts):
        with pytest.raises(IdentityError, match="user_id is empty"):
            call(user_id="")
    assert [fact.content for fact in client.facts()] == ["Has a dog."]


def test_a_call_may_name_another_user_than_the_client(client: MemoryClient) -> None:
    client.add("I live in Lisbon", user_id="bob")
    assert (len(client.facts(user_id="bob")), client.facts()) == (1, ())


def test_a_fact_that_a_person_adds_is_kept_word_for_word(client: MemoryClient) -> None:
    fact = client.remember("Parks on level 3")
    assert (fact.content, fact.is_manual, client.facts()) == ("Parks on level 3", True, (fact,))


@pytest.mark.parametrize("keep_words", [False, True])
def test_a_deleted_fact_is_gone_with_its_words(client: MemoryClient, keep_words: bool) -> None:  # noqa: FBT001
    """Recall would find it in them."""
    client.add("I live in Lisbon")
    (fact,) = client.facts()

    client.delete(fact.id, keep_words=keep_words)

    assert bool(client.search("Lisbon")) is keep_words


def test_forgetting_a_user_leaves_neither_facts_nor_episodes(client: MemoryClient) -> None:
    client.add("I live in Lisbon")
    client.forget()
    assert (client.facts(), tuple(client.episodes())) == ((), ())


def test_forgetting_a_user_deletes_the_backups(client: MemoryClient, tmp_path: Path) -> None:
    """Such as those that `memgraph import --replace` made of the same storage."""
    client.add("I live in Lisbon")
    backup = Backups(tmp_path / "backups").save(Scope("ada"), client.get(), new_name())

    client.forget()

    assert not backup.exists()


def test_an_update_can_be_undone_and_explained(client: MemoryClient) -> None:
    """Its turns stay learned; a fact that is undone can still be explained."""
    client.add("I live in Lisbon", thread_id="t1")
    (fact,) = client.facts()

    done = client.undo()

    assert (done.outcome, client.facts()) == ("undone", ())
    assert [(entry.by, entry.thread) for entry in client.history(limit=2)] == [("undo", "t1"), ("update", "t1")]
    assert client.why(fact.id).fact == fact
    with pytest.raises(EditError, match="nothing to undo"):
        client.undo()


def test_an_undone_update_is_learned_again_only_if_asked(tmp_path: Path) -> None:
    conversation = [HumanMessage("I live in Lisbon", id="m1")]
    with client_in(tmp_path, update_answer(LISBON), update_answer(LISBON)) as client:
        client.add(conversation, thread_id="t1")
        client.undo()
        client.add(conversation, thread_id="t1")
        assert client.facts() == ()

        client.undo(client.history()[-1].revision, relearn=True)
        client.add(conversation, thread_id="t1")

        assert [fact.content for fact in client.facts()] == ["Lives in Lisbon."]


def test_a_memory_is_learned_again_by_another_model(tmp_path: Path) -> None:
    """A dry run changes nothing, and what it learned is not learned again."""
    with client_in(tmp_path, update_answer(LISBON)) as client:
        client.add("I live in Lisbon", thread_id="t1")
        better = ScriptedModel(update_answer({**LISBON, "content": "Home: Lisbon."}))

        assert client.rebuild(better, dry_run=True).episodes == 1
        assert [fact.content for fact in client.facts()] == ["Lives in Lisbon."]

        client.rebuild(better)

        assert ([fact.content for fact in client.facts()], len(better.asked)) == (["Home: Lisbon."], 1)


def test_users_are_listed_once_each(client: MemoryClient) -> None:
    for user in ("bob", "ada", "bob"):
        client.remember(f"Is {user} {len(client.facts(user_id=user))}", user_id=user)
    assert client.users() == ["ada", "bob"]


def test_a_storage_that_was_passed_stays_open(tmp_path: Path) -> None:
    with open_storage(f"sqlite:{tmp_path / 'memory.db'}") as storage:
        with MemoryClient(storage, user_id="ada", settings=settings_in(tmp_path)) as client:
            client.remember("Parks on level 3")
        assert [scope.user_id for scope in storage.scopes()] == ["ada"]


def test_the_upkeep_merges_what_is_known_twice(client: MemoryClient) -> None:
    """A dry run reports the same, and saves nothing."""
    twice = (Fact(id="a", content="Has 2 cats."), Fact(id="b", content="has 2  cats."))
    client.storage.save(Scope("ada"), MemoryDocument(facts=twice))
    client = MemoryClient(client.storage, model="offline", user_id="ada", settings=client.settings)

    tried = client.upkeep(dry_run=True)

    assert client.facts() == twice
    assert client.upkeep() == tried
    assert [removed.fact.id for removed in tried.removed] == ["b"]
    assert [fact.id for fact in client.facts()] == ["a"]


def test_the_async_client_does_the_same(tmp_path: Path) -> None:
    async def script() -> tuple[str, int, list[str]]:
        model = ScriptedModel(update_answer(LISBON), json.dumps({"merge": [], "end": [], "summaries": []}))
        async with AsyncMemoryClient(
            f"file:{tmp_path / 'memory'}", model=model, user_id="ada", settings=settings_in(tmp_path)
        ) as memory:
            await memory.add("I live in Lisbon")
            fact = await memory.remember("Parks on level 3")
            await memory.update(fact.id, "Parks on level 4")
            assert (await memory.upkeep()).removed == ()
            return await memory.context("Where do I live?"), len(await memory.search("level")), await memory.users()

    text, found, users = asyncio.run(script())
    assert "Lives in Lisbon." in text
    assert "Parks on level 4" in text
    assert (found, users) == (1, ["ada"])


def test_the_memory_of_a_date_is_read_and_recalled(client: MemoryClient) -> None:
    client.add("I live in Lisbon", at=datetime(2025, 1, 10, tzinfo=UTC))

    assert [fact.content for fact in client.get(as_of="2025-01").facts] == ["Lives in Lisbon."]
    assert client.get(as_of="2024").facts == ()
    assert "Lisbon" in client.context("Where do I live?", as_of="2025-01")
    assert client.context("Where do I live?", as_of="2024") == ""
    with pytest.raises(EditError, match="is not a date"):
        client.get(as_of="spring")


def test_an_argument_that_a_method_does_not_have_is_named_with_the_method(client: MemoryClient) -> None:
    with pytest.raises(TypeError, match=r"^search\(\) got an unexpected keyword argument 'top_k'$"):
        client.search("tea", top_k=3)  # type: ignore[call-arg]


def test_erase_removes_everything_and_returns_a_receipt(tmp_path: Path) -> None:
    """Facts, episodes, history, and what waits to be learned from."""
    with client_in(tmp_path) as client:
        client.add("I live in Lisbon, near the river.")
        client.add("I work for Acme as a gardener.", background=True)

        receipt = client.erase()

        removed = {kind: count for place in receipt.places for kind, count in place.removed.items()}
        assert (removed["facts"], removed["episodes"], removed["submissions"]) == (1, 2, 1)
        assert (receipt.is_complete, client.facts(), client.episodes(), client.users()) == (True, (), (), [])
        assert client.erase().removed == 0


def test_erase_clears_every_cache_of_the_process(client: MemoryClient) -> None:
    """Also those of objects that the client does not know, such as an agent's middleware."""
    cache: LRUCache[str, str] = LRUCache(1)
    client.add("I live in Lisbon")
    cache.put("ada", "Lives in Lisbon.")

    client.erase()

    assert len(cache) == 0


@pytest.mark.parametrize(
    "change",
    [
        lambda client, fact: client.delete(fact.id),
        lambda client, fact: client.update(fact.id, "Lives in Porto."),
        lambda client, fact: client.revert(thread_id="home"),
    ],
    ids=["delete", "update", "revert"],
)
def test_what_was_taken_from_memory_is_in_no_summary(
    tmp_path: Path, change: Callable[[MemoryClient, Fact], object]
) -> None:
    """Neither in the stored one nor in a prompt."""
    with client_in(tmp_path, update_answer(LISBON), update_answer(TEA)) as client:
        client.add("I live in Lisbon", thread_id="home")
        client.add("I prefer tea", thread_id="tea")
        summary = Section(summary="Prefers tea. Lives in Lisbon.", updated_at="2100-01-01T00:00:00Z")
        client.storage.save(Scope("ada"), client.get().with_section("personal_context", summary))

        change(client, client.facts()[0])

        assert client.get().user.personal_context.summary == "Prefers tea."
        assert "Personal: Prefers tea.\n" in client.context("Tea?")
