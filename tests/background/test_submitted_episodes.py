"""What the user said is kept when it is submitted, before any model runs, and is gone with a deleted memory."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, StateGraph

from memgraph import BackgroundInvoker, Context, Fact, MemoryDocument, Policy, Scope, StorageError, build_graph
from memgraph.background.outbox import ConversationKey
from memgraph.background.sql_outbox import SqliteOutbox
from memgraph.state import Conversation
from memgraph.storage.memory import InMemoryStorage
from memgraph.testing import ScriptedModel

TRUSTING = Policy(grounding="off")
ADA = Scope("ada")
UNUSED = ScriptedModel(AssertionError("no model may be called"))


def kept(storage: Any, scope: Scope = ADA) -> list[str]:
    return [episode.text for episode in storage.episodes(scope)]


@pytest.fixture
def silent(make_runner: Any, storage: Any) -> Any:
    """A runner whose model must not be called."""
    return make_runner(graph=build_graph(model=UNUSED, storage=storage))


def test_words_are_kept_before_any_model_runs(silent: Any, storage: Any, say: Any) -> None:
    silent.add(say(1, 2))

    assert kept(storage) == ["turn-1", "turn-2"]


def test_words_have_the_time_of_their_submission(silent: Any, storage: Any, clock: Any, say: Any) -> None:
    clock.time = 1_767_225_600.0
    silent.add(say(1))

    assert storage.episodes(ADA)[0].at == "2026-01-01T00:00:00Z"


def test_update_keeps_nothing_twice(runner: Any, storage: Any, say: Any) -> None:
    runner.add(say(1, 2))
    at_once = storage.episodes(ADA)
    runner.run_all()

    assert storage.episodes(ADA) == at_once


@pytest.mark.parametrize(
    "submissions",
    [
        [["I like tea.", "I like rice."]],
        [["I like tea."], ["I like rice."]],
        [["I like tea."], ["I like tea.", "I like rice."]],
    ],
    ids=["one", "only new messages", "history"],
)
@pytest.mark.parametrize("learns_between", [False, True])
def test_messages_without_ids_are_kept_once(
    runner: Any, storage: Any, submissions: list[list[str]], *, learns_between: bool
) -> None:
    for texts in submissions:
        runner.add([HumanMessage(text) for text in texts])
        if learns_between:
            runner.run_all()
    at_once = storage.episodes(ADA)
    runner.run_all()

    assert storage.episodes(ADA) == at_once
    assert kept(storage) == list(dict.fromkeys(text for texts in submissions for text in texts))


def test_overlapping_parts_without_ids_are_kept_once_while_they_wait(runner: Any, storage: Any) -> None:
    for texts in (["I like tea.", "I like rice."], ["I like rice.", "I like figs."]):
        runner.add([HumanMessage(text) for text in texts])
    at_once = storage.episodes(ADA)
    runner.run_all()

    assert storage.episodes(ADA) == at_once
    assert kept(storage) == ["I like tea.", "I like rice.", "I like figs."]


def test_learned_turns_are_not_appended_again(runner: Any, storage: Any, say: Any) -> None:
    runner.add(say(1, 2))
    runner.run_all()
    storage.remove_episodes(ADA, [episode.id for episode in storage.episodes(ADA)])
    runner.add(say(1, 2, 3))

    assert kept(storage) == ["turn-3"]


def test_assistants_answers_acknowledgements_and_secrets_are_not_kept(silent: Any, storage: Any) -> None:
    key = "sk-proj-" + "a1B2" * 12
    silent.add([HumanMessage(f"My key is {key}."), AIMessage("I keep that to myself."), HumanMessage("ok, thanks")])

    assert len(kept(storage)) == 1
    assert key not in kept(storage)[0]


def test_exchange_keeps_the_final_answer_too(make_runner: Any, storage: Any) -> None:
    runner = make_runner(graph=build_graph(model=UNUSED, storage=storage, policy=Policy(episodes="exchange")))
    runner.add([HumanMessage("Where do I park?"), AIMessage("On level 3.")])

    assert kept(storage) == ["Where do I park?", "On level 3."]


def test_episodes_off_keeps_nothing(make_runner: Any, storage: Any, say: Any) -> None:
    runner = make_runner(graph=build_graph(model=UNUSED, storage=storage, policy=Policy(episodes="off")))
    runner.add(say(1))

    assert kept(storage) == []


def test_graph_that_is_disabled_keeps_nothing(make_runner: Any, storage: Any, say: Any) -> None:
    defaults = Context(enabled=False)
    make_runner(graph=build_graph(model=UNUSED, storage=storage, defaults=defaults)).add(say(1))

    assert kept(storage) == []


def test_another_speakers_words_are_not_kept(silent: Any, storage: Any) -> None:
    silent.add([HumanMessage("I like tea.", name="Bob"), HumanMessage("I like rice.", name="ada")])

    assert kept(storage) == ["I like rice."]


def test_what_memory_gave_the_conversation_is_not_kept(silent: Any, storage: Any) -> None:
    storage.save(ADA, MemoryDocument(facts=(Fact(content="Lives in Oslo."),)))
    silent.add([HumanMessage("Lives in Oslo.\nI like rain.", id="m1")])

    assert kept(storage) == ["I like rain."]


def test_agents_words_are_kept_with_its_own_memory(silent: Any, storage: Any, say: Any) -> None:
    bot = Scope("ada", "bot")
    silent.add(say(1), ConversationKey(bot, "t1"))

    assert (kept(storage, bot), kept(storage)) == (["turn-1"], [])


def test_custom_graph_accepts_submissions(make_runner: Any, storage: Any, say: Any) -> None:
    """Its storage is not known."""
    custom = StateGraph(Conversation)
    custom.add_node("nothing", lambda _: {})
    custom.add_edge(START, "nothing")
    runner = make_runner(graph=custom.compile())
    runner.add(say(1))

    assert len(runner.outbox.pending(now=0)) == 1
    assert kept(storage) == []


def test_words_are_durable_before_their_submission_leaves_the_outbox(make_runner: Any, model: Any, say: Any) -> None:
    """A submission waits for the disk once, for the outbox, which has the words until then."""
    storage = DurabilityStorage()
    runner = make_runner(graph=build_graph(model=model, storage=storage))
    runner.add(say(1))
    at_submission = list(storage.durable)
    runner.run_all()

    assert (at_submission, storage.durable) == ([False], [False, True])


class DurabilityStorage(InMemoryStorage):
    """Records which commits were to be durable."""

    def __init__(self) -> None:
        super().__init__()
        self.durable: list[bool] = []
        commit = self._backend.commit

        def record(*args: Any, durable: bool = True) -> bool:
            self.durable.append(durable)
            return commit(*args, durable=durable)

        self._backend.commit = record  # type: ignore[method-assign]


# -- failures ------------------------------------------------------------------------------------


class BrokenStorage(InMemoryStorage):
    """Fails in one method until it is repaired."""

    broken = ""

    def load(self, scope: Scope) -> MemoryDocument:
        self._fail("load")
        return super().load(scope)

    def append_episodes(self, scope: Scope, *args: Any, **kwargs: Any) -> None:
        self._fail("append_episodes")
        super().append_episodes(scope, *args, **kwargs)

    def _fail(self, method: str) -> None:
        if self.broken == method:
            raise StorageError("the disk is full")


@pytest.mark.parametrize("method", ["load", "append_episodes"])
def test_failure_is_logged_and_the_update_keeps_the_words_later(
    make_runner: Any, model: Any, say: Any, caplog: Any, method: str
) -> None:
    storage = BrokenStorage()
    runner = make_runner(graph=build_graph(model=model, storage=storage, policy=TRUSTING))
    storage.broken = method
    with caplog.at_level(logging.WARNING, "memgraph.invoker"):
        runner.add(say(1))
    before, storage.broken = kept(storage), ""
    runner.run_all()

    assert "the disk is full" in caplog.text
    assert "turn-1" not in caplog.text
    assert (before, kept(storage)) == ([], ["turn-1"])


# -- deletion ------------------------------------------------------------------------------------


def test_forgotten_words_are_gone_after_their_job_is_dropped(runner: Any, storage: Any, say: Any) -> None:
    runner.add(say(1, 2))
    storage.delete(ADA)
    runner.run_all()

    assert kept(storage) == []


@pytest.mark.parametrize("has_ids", [True, False])
def test_full_history_after_a_deletion_brings_nothing_back(
    runner: Any, storage: Any, clock: Any, say: Any, *, has_ids: bool
) -> None:
    """Neither while the job from before it waits, nor later."""

    def history(*numbers: int) -> list[Any]:
        return say(*numbers) if has_ids else [HumanMessage(f"turn-{number}") for number in numbers]

    runner.add(history(1, 2))
    storage.delete(ADA)
    clock.sleep(3_600)
    runner.add(history(1, 2, 3))
    while_waiting = kept(storage)
    runner.run_all()
    runner.add(history(1, 2, 3, 4))

    assert while_waiting == ["turn-3"]
    assert kept(storage) == ["turn-3", "turn-4"]


def test_words_that_were_kept_during_a_deletion_are_removed_with_their_job(runner: Any, storage: Any, say: Any) -> None:
    """The memory is deleted, then something is submitted, and only then the outbox is told of the deletion."""
    tombstone = storage.delete(ADA)
    runner.add(say(1))
    runner.outbox.record_deletion(ADA, tombstone.forgotten.at)
    runner.run_all()

    assert kept(storage) == []


def test_deletion_during_a_submission_keeps_nothing(make_runner: Any, model: Any, say: Any, monkeypatch: Any) -> None:
    storage = InMemoryStorage()
    runner = make_runner(graph=build_graph(model=model, storage=storage, policy=TRUSTING))
    enqueue = runner.outbox.enqueue

    def enqueue_and_delete(*args: Any, **kwargs: Any) -> None:
        enqueue(*args, **kwargs)
        storage.delete(ADA)

    monkeypatch.setattr(runner.outbox, "enqueue", enqueue_and_delete)
    runner.add(say(1))

    assert kept(storage) == []


def test_other_memories_keep_their_words(runner: Any, storage: Any, say: Any) -> None:
    runner.add(say(1))
    runner.add(say(2), ConversationKey(Scope("bob"), "t1"))
    storage.delete(ADA)
    runner.run_all()

    assert (kept(storage), kept(storage, Scope("bob"))) == ([], ["turn-2"])


# -- the invoker ---------------------------------------------------------------------------------


def test_words_can_be_recalled_in_another_process_at_once(tmp_path: Any, say: Any) -> None:
    from memgraph import Settings, open_storage, recall

    url = f"sqlite:{tmp_path}/memory.db"
    settings = Settings(debounce_seconds=3_600, max_wait_seconds=3_600)
    graph = build_graph(model=UNUSED, storage=url)
    with BackgroundInvoker(graph, outbox=f"sqlite:{tmp_path}/outbox.db", settings=settings) as invoker:
        invoker.submit([HumanMessage("I live in Lisbon.")], ADA, "t1")
        other = open_storage(url)  # reads what is stored, as another process would
        found = other.episodes(ADA)
        text = recall(other.load(ADA), ["Where do I live?"], episodes=found)

    assert "I live in Lisbon." in text


@pytest.mark.parametrize("storage_url", ["file:{}/memory", "sqlite:///{}/memory.db"])
def test_a_secret_is_in_no_file_no_prompt_and_no_log(
    make_runner: Any, model: Any, tmp_path: Path, storage_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The model repeats each message as a fact, so the document, the episodes and the outbox all have had it."""
    caplog.set_level(logging.DEBUG)
    key = "sk-proj-" + "a1B2" * 10
    with SqliteOutbox(tmp_path / "outbox.db") as outbox:
        runner = make_runner(outbox=outbox, graph=build_graph(model=model, storage=storage_url.format(tmp_path)))
        runner.add([HumanMessage(f"My wifi password is Sunshine42 and my key {key}.", id="m1")])
        runner.run_all()
        written = b"".join(path.read_bytes() for path in sorted(tmp_path.rglob("*")) if path.is_file())

    assert b"My wifi password is ***" in written
    assert model.seen == [["My wifi password is *** and my key sk-p***."]]
    for secret in ("Sunshine42", key):
        assert secret.encode() not in written
        assert secret not in str(model.asked) + caplog.text


def test_a_submission_is_stored_before_the_storage_is_asked(
    silent: Any, storage: Any, say: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A storage that stands still loses no submission."""
    waiting: list[int] = []
    load = InMemoryStorage.load

    def note_and_load(self: InMemoryStorage, scope: Scope) -> MemoryDocument:
        waiting.append(len(silent.outbox.pending(now=silent.now())))
        return load(self, scope)

    monkeypatch.setattr(InMemoryStorage, "load", note_and_load)
    silent.add(say(1))

    assert waiting[0] == 1


def test_an_outage_is_one_line_of_the_log(
    silent: Any, say: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until the storage has answered again."""

    def fail(*_: object) -> None:
        raise StorageError("the server is away")

    for _ in range(2):
        with monkeypatch.context() as outage:
            outage.setattr(InMemoryStorage, "load", fail)
            for number in range(3):
                silent.add(say(number))
        silent.add(say(4))

    warnings = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(warnings) == 2
