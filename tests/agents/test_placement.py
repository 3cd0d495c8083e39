"""Where the memory stands in a request: what stays the same first, what the question needs last."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agent_fakes import AgentModel, calls
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from memgraph import Fact, Memory, MemoryClient, MemoryMiddleware, MemoryStorage, Scope, Settings, open_storage
from memgraph.agents import injection
from memgraph.editing import add_fact, edit_fact, update_memory
from memgraph.models import Episode, Evidence, PastFact, Section
from memgraph.policy import Policy

ADA = Scope("ada")
CONFIG: Any = {"configurable": {"thread_id": "t1", "user_id": "ada"}}
TOWNS = tuple(
    Fact(id=f"t{n}", content=f"Has been to town number {n} by train.", category="context") for n in range(200)
)


@pytest.fixture
def storage() -> Iterator[MemoryStorage]:
    """Ada's memory, which does not fit the budget: a preference, and where she has been."""
    with open_storage("memory:") as opened:
        update_memory(opened, ADA, lambda memory: add_fact(memory, "Prefers short answers.", category="preference"))
        update_memory(opened, ADA, lambda memory: memory.with_facts((*memory.facts, *TOWNS)))
        yield opened


def make_agent(storage: MemoryStorage, model: AgentModel, **options: Any) -> Any:
    settings = Settings(max_injection_tokens=300)
    middleware = MemoryMiddleware(storage, settings=settings, capture=False, **options)
    return create_agent(model, middleware=[middleware], checkpointer=InMemorySaver())


def ask(agent: Any, *questions: str) -> None:
    for question in questions:
        agent.invoke({"messages": question}, CONFIG)


def before_the_block(model: AgentModel, call: int) -> str:
    """Return what stands in a request before the recalled block."""
    return "\n".join(message.text for message in model.asked[call]).rpartition("<memory>")[0]


def test_what_stands_before_the_recalled_block_is_the_beginning_of_the_next_request(storage: MemoryStorage) -> None:
    model = AgentModel("Fine.")
    ask(make_agent(storage, model), "When was I in town 17?", "And in town 99?", "What about town 3?")

    for call in (0, 1):
        following = "\n".join(message.text for message in model.asked[call + 1])
        assert following.startswith(before_the_block(model, call))


def test_what_does_not_depend_on_the_question_is_in_the_system_message(storage: MemoryStorage) -> None:
    model = AgentModel("Fine.")
    ask(make_agent(storage, model), "When was I in town number 17?")

    assert "Prefers short answers." in model.systems[0]
    assert "town number 17 " in model.asked[0][-1].text
    assert "Prefers short answers." not in model.asked[0][-1].text


def test_new_facts_of_a_conversation_are_in_the_recalled_block(storage: MemoryStorage) -> None:
    model = AgentModel("Fine.")
    agent = make_agent(storage, model)
    ask(agent, "Hi!")
    update_memory(storage, ADA, lambda memory: add_fact(memory, "Prefers metric units.", category="preference"))
    ask(agent, "How far is it in metric units?")

    assert model.systems[1] == model.systems[0]
    assert "Prefers metric units." in model.asked[1][-1].text


def test_what_was_edited_is_shown_at_once(storage: MemoryStorage) -> None:
    model, known = AgentModel("Fine."), storage.load(ADA).facts[0]
    agent = make_agent(storage, model)
    ask(agent, "Hi!")
    update_memory(storage, ADA, lambda memory: edit_fact(memory, known.id, content="Prefers long answers."))
    ask(agent, "Hi again!")

    assert "Prefers long answers." in model.systems[1]
    assert "Prefers short answers." not in model.prompts[1]


def test_the_end_of_a_fact_that_is_not_in_the_stable_block_leaves_it_as_it_is(storage: MemoryStorage) -> None:
    model = AgentModel("Fine.")
    agent = make_agent(storage, model)
    ask(agent, "Hi!")
    update_memory(storage, ADA, lambda memory: memory.with_facts(memory.facts[:-1]))
    update_memory(storage, ADA, lambda memory: add_fact(memory, "Prefers metric units.", category="preference"))
    ask(agent, "Hi again!")

    assert model.systems[1] == model.systems[0]


def test_a_fact_that_ended_is_gone_at_once_also_from_a_memory_with_many_expired_ones() -> None:
    """They take no room in the block, which shows all others."""
    expired = [town.model_copy(update={"valid_until": "2020-01-01"}) for town in TOWNS]
    model = AgentModel("Fine.")
    with open_storage("memory:") as storage:
        update_memory(storage, ADA, lambda memory: memory.with_facts((*expired, Fact(id="tea", content="Likes tea."))))
        agent = make_agent(storage, model)
        ask(agent, "Hi!")
        update_memory(storage, ADA, lambda memory: memory.with_facts(memory.facts[:-1]))
        ask(agent, "Hi again!")

    assert ["Likes tea." in system for system in model.systems] == [True, False]


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"category": "correction", "source_error": "too long"}, "(avoid: too long)"),
        ({"confidence": 0.5}, "(uncertain)"),
    ],
)
def test_an_edit_of_what_stands_next_to_a_content_is_shown_at_once(
    storage: MemoryStorage, changes: dict[str, Any], line: str
) -> None:
    model, known = AgentModel("Fine."), storage.load(ADA).facts[0]
    agent = make_agent(storage, model)
    ask(agent, "Hi!")
    update_memory(storage, ADA, lambda memory: edit_fact(memory, known.id, **changes))
    ask(agent, "Hi again!")

    assert [f"short answers. {line}" in system for system in model.systems] == [False, True]


def test_a_past_fact_that_was_deleted_leaves_the_note_of_its_words_at_once() -> None:
    evidence = (Evidence(episode="e1", quote="I drove a Fiat, now I drive a bus"),)
    drove = PastFact.of(Fact(id="fiat", content="Drives a Fiat.", evidence=evidence), "removed", at="2026-05-01")
    model = AgentModel("Fine.")
    with open_storage("memory:") as storage:
        storage.append_episodes(ADA, [Episode(id="e1", thread_id="t0", text=evidence[0].quote)], Policy())
        update_memory(storage, ADA, lambda memory: memory.model_copy(update={"past": (drove,)}))
        agent = make_agent(storage, model)
        ask(agent, "Hi!")
        update_memory(storage, ADA, lambda memory: memory.model_copy(update={"past": ()}))
        ask(agent, "Hi again!")

    assert ["Drives a Fiat" in system for system in model.systems] == [True, False]


def test_until_there_are_summaries_the_attributes_of_the_user_stand_for_them(storage: MemoryStorage) -> None:
    """Whatever the question is; one that ends is gone at once."""
    home = Fact(id="home", content="Lives in Lisbon.", slot="home", confidence=0.9, source="t0")
    update_memory(storage, ADA, lambda memory: memory.with_facts((home, *memory.facts)))
    model = AgentModel("Fine.")
    agent = make_agent(storage, model)
    ask(agent, "Hi!")
    update_memory(storage, ADA, lambda memory: memory.with_facts(memory.facts[1:]))
    ask(agent, "Hi again!")

    assert ["Lives in Lisbon." in system for system in model.systems] == [True, False]


def test_with_summaries_attributes_are_recalled_as_other_facts_are(storage: MemoryStorage) -> None:
    home = Fact(id="home", content="Lives in Lisbon.", slot="home", confidence=0.9, source="t0")
    summary = Section(summary="Travels a lot.", updated_at="2026-01-01T00:00:00Z")
    update_memory(
        storage,
        ADA,
        lambda memory: memory.with_facts((home, *memory.facts)).with_section("personal_context", summary),
    )
    model = AgentModel("Fine.")
    ask(make_agent(storage, model), "Hi!")

    assert ("Travels a lot." in model.systems[0], "Lives in Lisbon." in model.prompts[0]) == (True, False)


def test_after_an_hour_the_stable_block_is_made_anew(storage: MemoryStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    model = AgentModel("Fine.")
    agent = make_agent(storage, model)
    ask(agent, "Hi!")
    update_memory(storage, ADA, lambda memory: add_fact(memory, "Prefers metric units.", category="preference"))
    monkeypatch.setattr(injection, "STABLE_SECONDS", 0.0)
    ask(agent, "Hi again!")

    assert "Prefers metric units." in model.systems[1]


def test_a_memory_that_fits_is_all_in_the_stable_block() -> None:
    model = AgentModel("Fine.")
    with open_storage("memory:") as storage:
        update_memory(storage, ADA, lambda memory: add_fact(memory, "Likes tea."))
        ask(make_agent(storage, model), "What is the capital of France?")

    assert "Likes tea." in model.systems[0]
    assert model.asked[0][-1].text == "What is the capital of France?"


def test_words_that_a_fact_covers_are_not_shown_beside_it(tmp_path: Path) -> None:
    model = AgentModel("Fine.")
    with Memory(f"file:{tmp_path}/memory", model="offline", settings=Settings(outbox="memory:")) as memory:
        memory.client("ada").add("I live in Lisbon.", thread_id="t0")
        ask(create_agent(model, middleware=[memory.middleware()]), "Hi!")

    assert model.prompts[0].count("Lisbon") == 1


def test_the_block_stays_at_the_users_message_while_tools_run(storage: MemoryStorage) -> None:
    seen = list[str]()

    @tool
    def look(question: str) -> str:
        """Look something up."""
        seen.append(question)
        return "nothing"

    model = AgentModel(calls("look", question="town"), AIMessage("Fine."))
    middleware = MemoryMiddleware(storage, settings=Settings(max_injection_tokens=300), capture=False)
    agent = create_agent(model, tools=[look], middleware=[middleware])
    state = agent.invoke({"messages": "When was I in town number 17?"}, CONFIG)

    asked = [next(message for message in call if message.type == "human").text for call in model.asked]
    assert asked[0] == asked[1]
    assert "town number 17 " in asked[0].partition("<memory>")[2]
    assert state["messages"][0].text == "When was I in town number 17?"


def test_the_whole_memory_can_stand_in_the_system_message(storage: MemoryStorage) -> None:
    model = AgentModel("Fine.")
    ask(make_agent(storage, model, placement="system"), "When was I in town number 17?")

    assert "town number 17 " in model.systems[0]
    assert model.asked[0][-1].text == "When was I in town number 17?"


@pytest.mark.parametrize("placement", ["split", "system"])
def test_a_stream_and_the_private_state_name_what_is_shown(storage: MemoryStorage, placement: str) -> None:
    """By ids alone: traces, Studio and tests see what the model saw, and no checkpoint has its text."""
    agent = make_agent(storage, AgentModel("Fine."), placement=placement)
    question = {"messages": "When was I in town number 17?"}

    events = [event["memory"] for event in agent.stream(question, CONFIG, stream_mode="custom")]

    preferred = next(fact.id for fact in storage.load(ADA).facts if fact.category == "preference")
    assert [{preferred, "t17"} <= set(event["facts"]) for event in events] == [True]
    assert events == [{"facts": events[0]["facts"], "episodes": []}]
    assert agent.get_state(CONFIG).values["memory_shown"] == events[0]
    assert "memory_shown" not in agent.invoke(question, CONFIG)


def test_an_asynchronous_stream_names_it_too(storage: MemoryStorage) -> None:
    agent = make_agent(storage, AgentModel("Fine."))

    async def events() -> list[Any]:
        return [event async for event in agent.astream({"messages": "Is town 17 nice?"}, CONFIG, stream_mode="custom")]

    assert ["t17" in event["memory"]["facts"] for event in asyncio.run(events())] == [True]


def test_a_standing_need_is_shown_before_newer_preferences(storage: MemoryStorage) -> None:
    likes = tuple(Fact(content=f"Likes tune number {n} a lot.", category="preference") for n in range(60))
    allergy = Fact(content="Is allergic to peanuts.", category="context")
    update_memory(storage, ADA, lambda memory: memory.with_facts((allergy, *memory.facts, *likes)))
    model = AgentModel("Fine.")

    ask(make_agent(storage, model), "Suggest a snack.")

    assert "Is allergic to peanuts." in model.systems[0]


@pytest.mark.parametrize("way", ["written", "undone"])
def test_a_corrected_summary_is_shown_at_once_and_the_old_text_no_more(storage: MemoryStorage, way: str) -> None:
    client = MemoryClient(storage, user_id="ada", settings=Settings(outbox="memory:"))
    client.write_summary("workContext", "Ada is a welder.")
    client.write_summary("workContext", "Ada was fired for theft.")
    model = AgentModel("Fine.")
    agent = make_agent(storage, model)
    ask(agent, "Hi!")

    if way == "written":
        client.write_summary("workContext", "Ada is a welder.")
    else:
        client.undo()
    ask(agent, "Who am I?")

    assert "fired" in model.prompts[0]
    assert ("welder" in model.prompts[1], "fired" in model.prompts[1]) == (True, False)


def test_no_part_of_the_memory_is_in_a_checkpoint(storage: MemoryStorage) -> None:
    agent = make_agent(storage, AgentModel("Fine."))
    ask(agent, "When was I in town number 17?", "And in town 99?")

    assert "by train" not in repr(list(agent.get_state_history(CONFIG)))


def breakpoints(payload: dict[str, Any]) -> list[str]:
    """Return what has a breakpoint in a request to Anthropic: the texts of parts, and "" for a tool or the whole."""
    messages = [
        part for message in payload["messages"] if isinstance(message["content"], list) for part in message["content"]
    ]
    holders = [*payload["system"], *messages, *payload.get("tools", ()), payload]
    return [holder.get("text", "") for holder in holders if "cache_control" in holder]


@pytest.mark.parametrize("others", ["none", "outside", "inside"])
def test_anthropic_caches_what_stands_before_the_recalled_block(storage: MemoryStorage, others: str) -> None:
    """Alone, and beside LangChain's own caching middleware, in any order; a request may have four breakpoints."""
    anthropic = pytest.importorskip("langchain_anthropic")
    caching = pytest.importorskip("langchain_anthropic.middleware").AnthropicPromptCachingMiddleware
    sent: list[dict[str, Any]] = []

    class Recorded(anthropic.ChatAnthropic):
        def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **options: Any) -> ChatResult:
            sent.append(self._get_request_payload(messages, stop=stop, **options))
            return ChatResult(generations=[ChatGeneration(message=AIMessage("OK."))])

    memory = MemoryMiddleware(storage, settings=Settings(max_injection_tokens=300), capture=False, tools=True)
    order = {"none": [memory], "outside": [caching(), memory], "inside": [memory, caching()]}
    model = Recorded(model="claude-sonnet-4-5", api_key="none")
    create_agent(model, system_prompt="Be brief.", middleware=order[others]).invoke(
        {"messages": "When was I in town number 17?"}, CONFIG
    )

    (system, *said), last = breakpoints(sent[-1]), sent[-1]["messages"][-1]["content"][-1]
    assert len([system, *said]) <= 4
    assert system == sent[-1]["system"][-1]["text"]
    assert "When was I in town number 17?" in said
    assert "town number 17 by train" in last["text"]
    assert "cache_control" not in last


def shown_after(*conversations: tuple[str, ...], thread: str | None) -> str:
    """Return the last request of conversations, which were learned before; each is sent again with its next message."""
    settings, model = Settings(model_name="offline", outbox="memory:"), AgentModel("Fine.")
    with open_storage("memory:") as storage:
        middleware = MemoryMiddleware(storage, settings=settings, wait_seconds=60)
        agent = create_agent(model, middleware=[middleware])
        for number, conversation in enumerate(conversations):
            config: Any = {"configurable": {"user_id": "ada"} | ({"thread_id": f"{thread}{number}"} if thread else {})}
            messages: list[Any] = []
            for words in conversation:
                messages = agent.invoke({"messages": [*messages, HumanMessage(words)]}, config)["messages"]
                assert middleware.invoker
                assert middleware.invoker.flush(120)
        middleware.close()
    return model.prompts[-1]


def test_a_question_that_states_nothing_is_not_shown_again() -> None:
    shown = shown_after(("I keep two goats.",), ("Will this sofa fit through the door?",), ("Hi!",), thread="t")

    assert ("goats" in shown, "sofa" in shown) == (True, False)


def test_a_conversation_without_a_thread_that_is_sent_again_is_not_shown_twice() -> None:
    conversation = ("I live in Ghent. Suggest a soup for Sunday.", "Hi!")

    assert shown_after(conversation, thread=None).count("Sunday") == 1
