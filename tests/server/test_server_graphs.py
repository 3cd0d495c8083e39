"""What a client of the server, such as Studio, sees of the graphs: names, routes, forms, stages, streams."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import SyncLangGraphClient

from memgraph import Context, Scope

pytestmark = pytest.mark.xdist_group("server")

UPDATE = "memory_update"
NODES = [
    "filter_messages",
    "detect_signals",
    "load_memory",
    "build_prompt",
    "call_model",
    "parse_update",
    "apply_update",
    "scrub_uploads",
    "save_memory",
]
PROMPT = "Answer with a JSON object with the keys user, history, newFacts and factsToRemove. Be brief."


def said(text: str, message_id: str = "m1") -> dict[str, Any]:
    """What goes in."""
    return {"messages": [{"role": "user", "content": text, "id": message_id}]}


def whose(name: str) -> Any:
    """What a run says of whom it is."""
    return {"user_id": name, "thread_id": "t1"}


def contents(server: Any, name: str) -> list[str]:
    return [fact.content for fact in server.storage.load(Scope(name)).facts]


def assistant_of(client: SyncLangGraphClient, graph: str) -> Any:
    return next(found for found in client.assistants.search(graph_id=graph) if found["name"] == graph)


# -- what there is --


@pytest.mark.parametrize("graph", ["memory_update", "memory_recall", "lead_agent"])
def test_a_graph_says_what_it_does(client: SyncLangGraphClient, graph: str) -> None:
    """Whoever opens the list of assistants knows which to choose, and what it has to be told."""
    assistant = assistant_of(client, graph)

    assert "user_id" in assistant["description"]


def test_the_routes_are_drawn(client: SyncLangGraphClient) -> None:
    """As they are in graph.py, with nothing that LangGraph adds."""
    drawn: Any = client.assistants.get_graph(assistant_of(client, UPDATE)["assistant_id"])

    assert [node["id"] for node in drawn["nodes"]] == ["__start__", *NODES, "__end__"]
    ways = {(edge["source"], edge["target"]) for edge in drawn["edges"] if edge.get("conditional")}
    assert {("load_memory", "apply_update"), ("parse_update", "call_model"), ("save_memory", "build_prompt")} <= ways


@pytest.mark.parametrize("graph", ["memory_update", "memory_recall", "lead_agent"])
def test_the_input_is_a_conversation(client: SyncLangGraphClient, graph: str) -> None:
    """And nothing else is asked for."""
    schemas: Any = client.assistants.get_schemas(assistant_of(client, graph)["assistant_id"])

    assert list(schemas["input_schema"]["properties"]) == ["messages"]
    assert "user_id" in schemas["context_schema"]["properties"]


def test_the_context_is_a_flat_form(client: SyncLangGraphClient) -> None:
    """The schema reaches clients as it was made."""
    schemas: Any = client.assistants.get_schemas(assistant_of(client, UPDATE)["assistant_id"])

    assert schemas["context_schema"]["properties"] == Context.model_json_schema()["properties"]
    assert "$defs" not in schemas["context_schema"]


def test_the_prompt_is_edited_version_by_version(client: SyncLangGraphClient) -> None:
    """Runs of an assistant use its latest version, and the earlier ones are kept."""
    assistant = client.assistants.create(UPDATE, context={"prompt": PROMPT + " One."}, name="terse")["assistant_id"]
    asked: Any = said("I live in Lisbon.")
    first: Any = client.runs.wait(None, assistant, input=asked, context=whose("graphs-prompt-1"))

    client.assistants.update(assistant, context={"prompt": PROMPT + " Two."})
    second: Any = client.runs.wait(None, assistant, input=asked, context=whose("graphs-prompt-2"))

    assert first["prompt"]["system"].startswith(PROMPT + " One.")
    assert second["prompt"]["system"].startswith(PROMPT + " Two.")
    assert [version["version"] for version in client.assistants.get_versions(assistant)] == [2, 1]


# -- stages --


@pytest.fixture(scope="module")
def watched(server: Any) -> tuple[list[tuple[str, Any]], list[Any]]:
    """Everything that one run streams, and the history of its thread."""

    async def run() -> tuple[list[tuple[str, Any]], list[Any]]:
        async with get_client(url=server.url) as client:
            thread = (await client.threads.create())["thread_id"]
            modes: Any = ["updates", "tasks", "custom", "messages-tuple"]
            stream = client.runs.stream(
                thread, UPDATE, input=said("I live in Lisbon."), context=whose("graphs-watched"), stream_mode=modes
            )
            events = [(part.event, part.data) async for part in stream]
            return events, list(await client.threads.get_history(thread, limit=100))

    return asyncio.run(run())


def test_every_stage_is_in_the_history(watched: tuple[Any, list[Any]]) -> None:
    """The latest first, each before the node that is next."""
    _, history = watched

    assert [tuple(state["next"]) for state in history] == [
        (),
        *((name,) for name in reversed(NODES)),
        ("__start__",),
    ]
    assert history[0]["values"]["response"]["text"]
    assert history[0]["values"]["scrubbed"]["facts"][0]["content"] == "Lives in Lisbon."


def test_updates_are_streamed_node_by_node(watched: tuple[list[tuple[str, Any]], Any]) -> None:
    """Each with what it wrote."""
    updates = [data for event, data in watched[0] if event == "updates"]

    assert [name for update in updates for name in update] == NODES
    assert updates[4]["call_model"]["response"]["text"]


def test_tasks_are_streamed_as_they_begin_and_end(watched: tuple[list[tuple[str, Any]], Any]) -> None:
    """Before a node is done one can see that it runs."""
    tasks = [data for event, data in watched[0] if event == "tasks"]

    assert [task["name"] for task in tasks if "input" in task] == NODES


def test_progress_is_streamed_in_counts(watched: tuple[list[tuple[str, Any]], Any]) -> None:
    """How far it is, and no word of the user's."""
    progress = [data for event, data in watched[0] if event == "custom"]

    assert progress == [
        {"graph": UPDATE, "node": "build_prompt", "turns": 1, "left": 0},
        {"graph": UPDATE, "node": "save_memory", "facts": 1, "left": 0},
    ]


def test_no_words_of_the_memory_are_among_messages(watched: tuple[list[tuple[str, Any]], Any]) -> None:
    """A lead agent's chat must not show them, and the graph is the same one inside it."""
    assert not [event for event, _ in watched[0] if event.startswith("messages")]


# -- stopping, editing, going back --


@pytest.mark.parametrize("node", ["filter_messages", "call_model", "save_memory"])
def test_a_run_stops_before_any_node_and_goes_on(server: Any, client: SyncLangGraphClient, node: str) -> None:
    """A breakpoint is set by the client; no node knows of it."""
    name = f"graphs-stop-{node}"
    thread = client.threads.create()["thread_id"]
    asked: Any = said("I live in Lisbon.")
    client.runs.wait(thread, UPDATE, input=asked, context=whose(name), interrupt_before=[node])
    stopped = client.threads.get_state(thread)["next"]
    before = contents(server, name)

    client.runs.wait(thread, UPDATE, context=whose(name))

    assert (stopped, before) == ([node], [])
    assert contents(server, name) == ["Lives in Lisbon."]


def test_the_proposed_changes_are_edited_before_they_are_saved(server: Any, client: SyncLangGraphClient) -> None:
    """As plain JSON, in place of a model's answer."""
    thread = client.threads.create()["thread_id"]
    asked: Any = said("I live in Lisbon.")
    who = whose("graphs-edit")
    client.runs.wait(thread, UPDATE, input=asked, context=who, interrupt_before=["apply_update"])
    state: Any = client.threads.get_state(thread)["values"]
    changes = json.loads(json.dumps(state["changes"]).replace("Lisbon", "Porto"))

    client.threads.update_state(thread, {"changes": changes})
    client.runs.wait(thread, UPDATE, context=who)

    assert contents(server, "graphs-edit") == ["Lives in Porto."]


def test_a_run_is_replayed_from_a_checkpoint_without_learning_twice(server: Any, client: SyncLangGraphClient) -> None:
    """Going back in time does not go back on what was saved meanwhile."""
    thread = client.threads.create()["thread_id"]
    asked: Any = said("I live in Lisbon.")
    who = whose("graphs-replay")
    client.runs.wait(thread, UPDATE, input=asked, context=who)
    places: dict[str, Any] = {
        state["next"][0]: state["checkpoint"]["checkpoint_id"]
        for state in client.threads.get_history(thread, limit=100)
        if state["next"]
    }

    from_load: Any = client.runs.wait(thread, UPDATE, context=who, checkpoint_id=places["load_memory"])
    from_apply: Any = client.runs.wait(thread, UPDATE, context=who, checkpoint_id=places["apply_update"])

    assert (from_load["outcome"], from_apply["outcome"]) == ("nothing_new", "superseded")
    assert server.storage.load(Scope("graphs-replay")).revision == 1


def test_a_run_is_forked_from_a_checkpoint(server: Any, client: SyncLangGraphClient) -> None:
    """What was proposed can be tried another way, and the first way stays in the history."""
    thread = client.threads.create()["thread_id"]
    asked: Any = said("I live in Lisbon.")
    who = whose("graphs-fork")
    client.runs.wait(thread, UPDATE, input=asked, context=who, interrupt_before=["save_memory"])
    history: Any = client.threads.get_history(thread, limit=100)
    before = next(state for state in history if state["next"] == ["parse_update"])

    answer = {**before["values"]["response"], "text": before["values"]["response"]["text"].replace("Lisbon", "Faro")}
    fork: Any = client.threads.update_state(thread, {"response": answer}, checkpoint_id=before["checkpoint_id"])
    client.runs.wait(thread, UPDATE, context=who, checkpoint_id=fork["checkpoint"]["checkpoint_id"])

    assert contents(server, "graphs-fork") == ["Lives in Faro."]


# -- many, later, and in other ways --


def test_a_background_run_starts_later(server: Any, client: SyncLangGraphClient) -> None:
    """Nobody waits for it."""
    thread = client.threads.create()["thread_id"]
    asked: Any = said("I live in Lisbon.")

    run = client.runs.create(thread, UPDATE, input=asked, context=whose("graphs-later"), after_seconds=1)
    waiting = client.runs.get(thread, run["run_id"])["status"]
    client.runs.join(thread, run["run_id"])

    assert waiting == "pending"
    assert contents(server, "graphs-later") == ["Lives in Lisbon."]


def test_many_users_learn_at_once_and_apart(server: Any) -> None:
    """Nobody's words get into another's memory."""
    places = ["Lisbon", "Porto", "Faro", "Braga", "Evora", "Sines"]

    async def learn_all() -> None:
        async with get_client(url=server.url) as client:
            runs = [
                client.runs.wait(None, UPDATE, input=said(f"I live in {place}."), context=whose(f"graphs-{place}"))
                for place in places
            ]
            await asyncio.gather(*runs)

    asyncio.run(learn_all())

    assert [contents(server, f"graphs-{place}") for place in places] == [[f"Lives in {place}."] for place in places]


def test_an_agent_remembers_its_user_in_another_thread(client: SyncLangGraphClient) -> None:
    """What it learned in one conversation it knows in the next."""
    who: Any = {"user_id": "graphs-agent"}
    ask: Callable[[str], Any] = lambda text: client.runs.wait(None, "lead_agent", input=said(text), context=who)  # noqa: E731
    ask("I live in Lisbon.")

    answer = ask("Where do I live?")["messages"][-1]["content"]

    assert "Lives in Lisbon" in answer


def test_the_http_api_is_beside_the_graphs(server: Any, client: SyncLangGraphClient) -> None:
    """It reads what a run learned, for whoever has the token."""
    asked: Any = said("I live in Lisbon.")
    client.runs.wait(None, UPDATE, input=asked, context=whose("graphs-http"))
    url = f"{server.url}/memory/facts?user_id=graphs-http"

    without = httpx.get(url)
    answer = httpx.get(url, headers={"Authorization": f"Bearer {server.token}"})

    assert without.status_code == 401
    assert "Lives in Lisbon." in answer.text


def test_the_log_is_without_noise(server: Any, client: SyncLangGraphClient) -> None:
    """Of a run on a used thread: a strict server knows our types, and nothing blocks its event loop.

    (The development server reads a state that is to be edited past the graph, and so without knowing them.)
    """
    for graph in (UPDATE, "memory_recall", "lead_agent"):
        thread = client.threads.create()["thread_id"]
        for text in ("I live in Lisbon.", "I work at Acme."):
            asked: Any = said(text, text)
            client.runs.wait(thread, graph, input=asked, context=whose("graphs-log"))

    assert not [line for line in server.log.splitlines() if "deserializ" in line and "/state" not in line]
    assert "Blocking" not in server.log
