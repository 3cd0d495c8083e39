"""The graphs as clients of the server, such as Studio, see them: descriptions, routes, schemas, stages and streams."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import SyncLangGraphClient
from langgraph_sdk.errors import APIStatusError

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


def make_input(text: str, message_id: str = "m1") -> dict[str, Any]:
    """Return the input of a run."""
    return {"messages": [{"role": "user", "content": text, "id": message_id}]}


def make_context(name: str) -> Any:
    """Return the context of a run."""
    return {"user_id": name, "thread_id": "t1"}


def contents(server: Any, name: str) -> list[str]:
    return [fact.content for fact in server.storage.load(Scope(name)).facts]


def assistant_of(client: SyncLangGraphClient, graph: str) -> Any:
    return next(found for found in client.assistants.search(graph_id=graph) if found["name"] == graph)


# -- descriptions and schemas --


@pytest.mark.parametrize("graph", ["memory_update", "memory_recall", "lead_agent"])
def test_assistant_has_a_description(client: SyncLangGraphClient, graph: str) -> None:
    """The list of assistants shows what each does and which context it needs."""
    assistant = assistant_of(client, graph)

    assert "user_id" in assistant["description"]


def test_drawn_graph_has_all_nodes_and_routes(client: SyncLangGraphClient) -> None:
    """They are those of graph.py, without additions of LangGraph."""
    drawn: Any = client.assistants.get_graph(assistant_of(client, UPDATE)["assistant_id"])

    assert [node["id"] for node in drawn["nodes"]] == ["__start__", *NODES[:-1], "review_changes", NODES[-1], "__end__"]
    routes = {(edge["source"], edge["target"]) for edge in drawn["edges"] if edge.get("conditional")}
    assert {("load_memory", "apply_update"), ("parse_update", "call_model"), ("save_memory", "build_prompt")} <= routes


@pytest.mark.parametrize("graph", ["memory_update", "memory_recall", "lead_agent"])
def test_input_schema_is_a_conversation(client: SyncLangGraphClient, graph: str) -> None:
    """There is no other input."""
    schemas: Any = client.assistants.get_schemas(assistant_of(client, graph)["assistant_id"])

    assert list(schemas["input_schema"]["properties"]) == ["messages"]
    assert "user_id" in schemas["context_schema"]["properties"]


def test_context_schema_is_flat(client: SyncLangGraphClient) -> None:
    """The server passes the schema on unchanged."""
    schemas: Any = client.assistants.get_schemas(assistant_of(client, UPDATE)["assistant_id"])

    assert schemas["context_schema"]["properties"] == Context.model_json_schema()["properties"]
    assert "$defs" not in schemas["context_schema"]


def test_prompt_is_chosen_by_assistant_version(server: Any, client: SyncLangGraphClient) -> None:
    """Runs use the latest version of an assistant, and earlier versions are kept."""
    assistant = client.assistants.create(UPDATE, context={"prompt": "terse"}, name="terse")["assistant_id"]
    conversation: Any = make_input("I live in Lisbon.")
    first: Any = client.runs.wait(None, assistant, input=conversation, context=make_context("graphs-prompt-1"))

    client.assistants.update(assistant, context={"prompt": "verbose"})
    second: Any = client.runs.wait(None, assistant, input=conversation, context=make_context("graphs-prompt-2"))

    assert first["prompt"]["system"].startswith((server.folder / "terse.txt").read_text())
    assert second["prompt"]["system"].startswith((server.folder / "verbose.txt").read_text())
    assert [version["version"] for version in client.assistants.get_versions(assistant)] == [2, 1]


# -- stages --


@pytest.fixture(scope="module")
def streamed(server: Any) -> tuple[list[tuple[str, Any]], list[Any]]:
    """All streamed events of one run, and the history of its thread."""

    async def run() -> tuple[list[tuple[str, Any]], list[Any]]:
        async with get_client(url=server.url) as client:
            thread = (await client.threads.create())["thread_id"]
            modes: Any = ["updates", "tasks", "custom", "messages-tuple"]
            stream = client.runs.stream(
                thread,
                UPDATE,
                input=make_input("I live in Lisbon."),
                context=make_context("graphs-watched"),
                stream_mode=modes,
            )
            events = [(part.event, part.data) async for part in stream]
            return events, list(await client.threads.get_history(thread, limit=100))

    return asyncio.run(run())


def test_history_contains_every_stage(streamed: tuple[Any, list[Any]]) -> None:
    """The latest first; each state names its next node."""
    _, history = streamed

    assert [tuple(state["next"]) for state in history] == [
        (),
        *((name,) for name in reversed(NODES)),
        ("__start__",),
    ]
    assert history[0]["values"]["response"]["text"]
    assert history[0]["values"]["scrubbed"]["facts"][0]["content"] == "Lives in Lisbon."


def test_updates_are_streamed_by_node(streamed: tuple[list[tuple[str, Any]], Any]) -> None:
    """Each update contains what the node wrote."""
    updates = [data for event, data in streamed[0] if event == "updates"]

    assert [name for update in updates for name in update] == NODES
    assert updates[4]["call_model"]["response"]["text"]


def test_task_starts_are_streamed(streamed: tuple[list[tuple[str, Any]], Any]) -> None:
    """A client can see which node is running."""
    tasks = [data for event, data in streamed[0] if event == "tasks"]

    assert [task["name"] for task in tasks if "input" in task] == NODES


def test_progress_is_streamed_as_counts(streamed: tuple[list[tuple[str, Any]], Any]) -> None:
    """It contains no user text."""
    progress = [data for event, data in streamed[0] if event == "custom"]

    assert progress == [
        {"graph": UPDATE, "node": "build_prompt", "turns": 1, "left": 0},
        {"graph": UPDATE, "node": "save_memory", "facts": 1, "left": 0},
    ]


def test_message_stream_is_empty(streamed: tuple[list[tuple[str, Any]], Any]) -> None:
    """A lead agent contains the same graph, and its chat must not show the memory's own model calls."""
    assert not [event for event, _ in streamed[0] if event.startswith("messages")]


# -- interrupts, edits and checkpoints --


@pytest.mark.parametrize("node", ["filter_messages", "call_model", "save_memory"])
def test_run_can_be_interrupted_before_any_node(server: Any, client: SyncLangGraphClient, node: str) -> None:
    """Clients set breakpoints; nodes do not support them explicitly."""
    name = f"graphs-stop-{node}"
    thread = client.threads.create()["thread_id"]
    conversation: Any = make_input("I live in Lisbon.")
    client.runs.wait(thread, UPDATE, input=conversation, context=make_context(name), interrupt_before=[node])
    stopped = client.threads.get_state(thread)["next"]
    before = contents(server, name)

    client.runs.wait(thread, UPDATE, context=make_context(name))

    assert (stopped, before) == ([node], [])
    assert contents(server, name) == ["Lives in Lisbon."]


def test_proposed_changes_can_be_edited(server: Any, client: SyncLangGraphClient) -> None:
    """They are edited as plain JSON, and count as the words of a person, who needs no quote."""
    thread = client.threads.create()["thread_id"]
    conversation: Any = make_input("I live in Lisbon.")
    who = make_context("graphs-edit")
    client.runs.wait(thread, UPDATE, input=conversation, context=who, interrupt_before=["apply_update"])
    state: Any = client.threads.get_state(thread)["values"]
    changes = json.loads(json.dumps(state["changes"]).replace("Lives in Lisbon", "Owns a boat in Porto"))

    client.threads.update_state(thread, {"changes": changes})
    client.runs.wait(thread, UPDATE, context=who)

    facts = server.storage.load(Scope("graphs-edit")).facts
    assert [(fact.content, fact.source) for fact in facts] == [("Owns a boat in Porto.", "manual")]


def test_what_a_person_removes_in_the_changes_is_removed(server: Any, client: SyncLangGraphClient) -> None:
    """Without words of the user that end it, which a removal by a model needs."""
    who = make_context("graphs-remove")
    client.runs.wait(None, UPDATE, input=make_input("I live in Lisbon."), context=who)
    [known] = server.storage.load(Scope("graphs-remove")).facts
    thread = client.threads.create()["thread_id"]
    conversation: Any = {"messages": [{"role": "user", "content": "I work at Acme.", "id": "m2"}]}
    client.runs.wait(thread, UPDATE, input=conversation, context=who, interrupt_before=["apply_update"])
    state: Any = client.threads.get_state(thread)["values"]

    client.threads.update_state(thread, {"changes": {**state["changes"], "removals": [{"id": known.id}]}})
    client.runs.wait(thread, UPDATE, context=who)

    assert contents(server, "graphs-remove") == ["Works at Acme."]


def test_the_origin_cannot_be_edited(server: Any, client: SyncLangGraphClient) -> None:
    """It names whose memory it is. A client that sends the whole state back unchanged edits nothing."""
    thread = client.threads.create()["thread_id"]
    who = make_context("graphs-origin")
    client.runs.wait(
        thread, UPDATE, input=make_input("I live in Lisbon."), context=who, interrupt_before=["load_memory"]
    )
    origin: Any = client.threads.get_state(thread)["values"]["origin"]
    other = {**origin, "scope": {"user_id": "graphs-origin", "agent_name": "coach"}}

    client.threads.update_state(thread, {"origin": origin})
    with pytest.raises(APIStatusError):
        client.threads.update_state(thread, {"origin": other})

    client.runs.wait(thread, UPDATE, context=who)
    assert contents(server, "graphs-origin") == ["Lives in Lisbon."]


def test_replay_from_a_checkpoint_learns_nothing_twice(server: Any, client: SyncLangGraphClient) -> None:
    """A replay must not overwrite what was saved in the meantime."""
    thread = client.threads.create()["thread_id"]
    conversation: Any = make_input("I live in Lisbon.")
    who = make_context("graphs-replay")
    client.runs.wait(thread, UPDATE, input=conversation, context=who)
    checkpoints: dict[str, Any] = {
        state["next"][0]: state["checkpoint"]["checkpoint_id"]
        for state in client.threads.get_history(thread, limit=100)
        if state["next"]
    }

    from_load: Any = client.runs.wait(thread, UPDATE, context=who, checkpoint_id=checkpoints["load_memory"])
    from_apply: Any = client.runs.wait(thread, UPDATE, context=who, checkpoint_id=checkpoints["apply_update"])

    assert (from_load["outcome"], from_apply["outcome"]) == ("nothing_new", "superseded")
    assert server.storage.load(Scope("graphs-replay")).revision == 1


def test_run_can_be_forked_from_a_checkpoint(server: Any, client: SyncLangGraphClient) -> None:
    """The fork has another answer, and the original run stays in the history."""
    thread = client.threads.create()["thread_id"]
    conversation: Any = make_input("I live in Lisbon.")
    who = make_context("graphs-fork")
    client.runs.wait(thread, UPDATE, input=conversation, context=who, interrupt_before=["save_memory"])
    history: Any = client.threads.get_history(thread, limit=100)
    before = next(state for state in history if state["next"] == ["parse_update"])

    answer = {
        **before["values"]["response"],
        "text": before["values"]["response"]["text"].replace("Lives", "Has a home"),
    }
    fork: Any = client.threads.update_state(thread, {"response": answer}, checkpoint_id=before["checkpoint_id"])
    client.runs.wait(thread, UPDATE, context=who, checkpoint_id=fork["checkpoint"]["checkpoint_id"])

    assert contents(server, "graphs-fork") == ["Has a home in Lisbon."]


# -- concurrency, delays and other graphs --


def test_delayed_run_starts_later(server: Any, client: SyncLangGraphClient) -> None:
    """The client does not wait for it."""
    thread = client.threads.create()["thread_id"]
    conversation: Any = make_input("I live in Lisbon.")

    run = client.runs.create(thread, UPDATE, input=conversation, context=make_context("graphs-later"), after_seconds=3)
    status = client.runs.get(thread, run["run_id"])["status"]
    client.runs.join(thread, run["run_id"])

    assert status == "pending"
    assert contents(server, "graphs-later") == ["Lives in Lisbon."]


def test_many_users_learn_concurrently_and_separately(server: Any) -> None:
    """No memory contains facts of another user."""
    places = ["Lisbon", "Porto", "Faro", "Braga", "Evora", "Sines"]

    async def learn_all() -> None:
        async with get_client(url=server.url) as client:
            runs = [
                client.runs.wait(
                    None, UPDATE, input=make_input(f"I live in {place}."), context=make_context(f"graphs-{place}")
                )
                for place in places
            ]
            await asyncio.gather(*runs)

    asyncio.run(learn_all())

    assert [contents(server, f"graphs-{place}") for place in places] == [[f"Lives in {place}."] for place in places]


def test_agent_remembers_its_user_in_another_thread(client: SyncLangGraphClient) -> None:
    """Facts from one conversation are used in the next."""
    who: Any = {"user_id": "graphs-agent"}
    ask: Callable[[str], Any] = lambda text: client.runs.wait(None, "lead_agent", input=make_input(text), context=who)  # noqa: E731
    ask("I live in Lisbon.")

    answer = ask("Where do I live?")["messages"][-1]["content"]

    assert "Lives in Lisbon" in answer


def test_http_api_is_served_with_the_graphs(server: Any, client: SyncLangGraphClient) -> None:
    """It returns facts that a run learned, to clients with the token."""
    conversation: Any = make_input("I live in Lisbon.")
    client.runs.wait(None, UPDATE, input=conversation, context=make_context("graphs-http"))
    url = f"{server.url}/memory/facts?user_id=graphs-http"

    without = httpx.get(url)
    answer = httpx.get(url, headers={"Authorization": f"Bearer {server.token}"})

    assert without.status_code == 401
    assert "Lives in Lisbon." in answer.text


def test_the_page_is_served_with_the_graphs(server: Any, client: SyncLangGraphClient) -> None:
    """Without blocking the server's event loop, whose log says so otherwise; an error is shown in words."""
    conversation: Any = make_input("I live in Lisbon.")
    client.runs.wait(None, UPDATE, input=conversation, context=make_context("graphs-page"))

    with httpx.Client(base_url=f"{server.url}/memory", follow_redirects=True) as browser:
        form = browser.get("/")
        csrf = re.findall(r'name="csrf" type="hidden" value="(\w+)"', browser.get("/page/sign-in").text)[0]
        page = browser.post("/page/sign-in", data={"token": server.token, "csrf": csrf})
        memory = browser.get("/", params={"user_id": "graphs-page"})
        script = browser.get("/page/static/page.js")
        error = browser.get("/page/history/99", params={"user_id": "graphs-page"})

    assert "Sign in" in form.text
    assert [answer.status_code for answer in (page, memory, script, error)] == [200, 200, 200, 404]
    assert "Lives in Lisbon." in memory.text
    assert "there is no revision 99" in error.text
    assert "Blocking" not in server.log


def test_upkeep_of_a_memory_without_candidates_calls_no_model(client: SyncLangGraphClient) -> None:
    conversation: Any = make_input("I live in Lisbon.")
    who: Any = {"user_id": "graphs-upkeep"}
    client.runs.wait(None, UPDATE, input=conversation, context=make_context("graphs-upkeep"))

    kept = client.runs.wait(None, "memory_upkeep", input={}, context=who)

    assert kept["outcome"] == "nothing_new"


def test_log_has_no_warnings(server: Any, client: SyncLangGraphClient) -> None:
    """Reused threads cause no warnings about unregistered types or blocking calls.

    Lines about /state are ignored: the development server reads a state to edit without the graph's type registrations.
    """
    for graph in (UPDATE, "memory_recall", "lead_agent"):
        thread = client.threads.create()["thread_id"]
        for text in ("I live in Lisbon.", "I work at Acme."):
            conversation: Any = make_input(text, text)
            client.runs.wait(thread, graph, input=conversation, context=make_context("graphs-log"))

    assert not [line for line in server.log.splitlines() if "deserializ" in line and "/state" not in line]
    assert "Blocking" not in server.log
