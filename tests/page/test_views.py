"""The other views: what the agent sees, what waits, trying an update, the history and the health."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import httpx
import pytest
from conftest_page import ADA, ADMIN, Site, Visit, add, begin, hold_change, learn, run_nodes, say, sign_in
from langchain_core.messages import BaseMessage, HumanMessage
from playwright.sync_api import expect

from memgraph import Settings
from memgraph.api.page.rendering import texts
from memgraph.chat_agent import ChatAgent
from memgraph.editing import add_fact, update_memory
from memgraph.models import ChangeOrigin, Fact, MemoryDocument, PendingChange
from memgraph.models.history import Author
from memgraph.opened import OpenMemory
from memgraph.testing import ScriptedModel, update_answer

NODES = (
    *("filter_messages", "detect_signals", "load_memory", "build_prompt", "call_model", "parse_update"),
    *("apply_update", "scrub_uploads"),
)
"""The nodes of an update before the one that saves."""


def learn_in(site: Site, thread: str, text: str) -> None:
    """Learn from a message of Ada as the server does."""
    site.services.memory.invoker.submit([HumanMessage(text)], ADA, thread)
    site.services.memory.invoker.flush()


# -- what the agent sees -----------------------------------------------------------------------------


def test_the_injected_text_is_shown_with_its_tokens_and_scores(site: Site, visit: Visit) -> None:
    add(site, "Lives in Lisbon.", "Plays the cello.")
    page = visit().open("/page/recall")

    page.get_by_label("Question").fill("Where does she live? In Lisbon?")

    expect(page.locator("#result .parts")).to_contain_text("Lives in Lisbon.")
    expect(page.locator("#result table").nth(1)).to_contain_text("lisbon")
    expect(page.locator("#result .meta").first).to_contain_text("tokens")


def test_a_small_budget_names_what_does_not_get_in(site: Site, visit: Visit) -> None:
    add(site, *(f"Plays the cello at concert number {number} in the old town hall." for number in range(12)))
    page = visit().open("/page/recall")
    slider = page.get_by_label("Budget in tokens")
    slider.focus()

    slider.press("Home")

    expect(page.get_by_role("heading", name="Facts that a larger budget would add")).to_be_visible()


# -- chat --------------------------------------------------------------------------------------------


def test_a_message_changes_the_memory_next_to_it(site: Site, visit: Visit) -> None:
    page = visit().open("/page/chat")

    say(page, "I live in Lisbon.")

    expect(page.locator("#talk .outcome")).to_have_text("Learned: Lives in Lisbon.")
    expect(page.locator("#facts .content")).to_have_text(["Lives in Lisbon."])
    (fact,) = site.storage.load(ADA).facts
    expect(page.locator("#facts .meta").first).to_contain_text(f"learned in {fact.source}")
    assert fact.source == page.locator("input[name=thread]").input_value()


def test_a_reply_names_what_a_message_replaced(visit: Visit) -> None:
    """The agent knows the messages before."""
    page = visit().open("/page/chat")

    say(page, "I live in Porto.", "I moved to Lisbon.")

    expect(page.locator("#talk .outcome").last).to_have_text("Learned: Lives in Lisbon. (Before: Lives in Porto.)")
    expect(page.locator("#facts > .facts .content")).to_have_text(["Lives in Lisbon."])


def test_a_question_is_answered_from_the_memory(site: Site, visit: Visit) -> None:
    learn(site, "I live in Lisbon.")
    page = visit().open("/page/chat")

    say(page, "Where do I live?")

    expect(page.locator("#talk .theirs")).to_contain_text("I remember:")
    expect(page.locator("#talk .theirs")).to_contain_text("Lives in Lisbon.")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("We lost our way to the lighthouse in the fog.", "Kept your words."),
        ("上周末和妹妹去了乌镇", "你的原话我记下了。"),
    ],
)
def test_a_message_without_a_fact_is_kept_as_words(visit: Visit, text: str, sentence: str) -> None:
    """The reply is in the language of the message."""
    page = visit().open("/page/chat")

    say(page, text)

    expect(page.locator("#talk .outcome")).to_have_text(sentence)


@pytest.mark.parametrize("review", ["always"])
def test_a_message_that_waits_for_a_decision_is_counted(site: Site, visit: Visit) -> None:
    page = visit().open("/page/chat")

    say(page, "I live in Lisbon.")

    expect(page.locator("#waiting-count")).to_have_text("1")
    assert site.storage.load(ADA).facts == ()


def test_the_latest_reply_is_in_view(visit: Visit) -> None:
    page = visit().open("/page/chat")

    say(page, *(f"We met {number} whales near the lighthouse." for number in range(8)))

    expect(page.locator("#talk .outcome").last).to_be_in_viewport()


def test_a_chat_model_answers_with_the_memory_and_the_reply_ends_with_what_was_learned() -> None:
    def answer(prompt: Sequence[BaseMessage]) -> str:
        return update_answer("Name is Ada.") if "newFacts" in prompt[0].text else "Hello, Ada."

    model = ScriptedModel(answer)
    with (
        OpenMemory("memory:", model=model, settings=Settings(outbox="memory:")) as memory,
        ChatAgent(memory, ADA, "t1", model, immediate=True) as agent,
    ):
        pieces = [piece for piece in agent.reply("My name is Ada.") if piece.text]

    assert pieces == [("answer", "Hello, Ada."), ("memory", "Learned: Name is Ada.")]


def test_a_failure_of_the_model_that_learns_is_a_notice(tmp_path: Path) -> None:
    """The answer stays, and what the user said is learned later."""
    failing = ScriptedModel(*[ConnectionError("connection refused")] * 10)
    settings = Settings(outbox=str(tmp_path / "outbox.db"))
    with (
        OpenMemory("memory:", model=failing, settings=settings) as memory,
        ChatAgent(memory, ADA, "t1", ScriptedModel("Hello, Ada."), immediate=True) as agent,
    ):
        kinds = [piece.kind for piece in agent.reply("My name is Ada.") if piece.text]
        waiting = agent.operations.jobs().pending

    assert (kinds, len(waiting)) == (["answer", "notice"], 1)


# -- what waits --------------------------------------------------------------------------------------


def test_a_submitted_conversation_appears_by_itself_and_is_learned_on_demand(site: Site, visit: Visit) -> None:
    page = visit().open("/page/waiting")
    expect(page.locator("#waiting")).to_contain_text("Nothing waits.")

    site.services.memory.invoker.submit([HumanMessage("I live in Lisbon.")], ADA, "t1")
    expect(page.locator(".jobs li")).to_contain_text("t1")
    page.get_by_role("button", name="Learn now").click()

    expect(page.locator("#waiting")).to_contain_text("Nothing waits.")
    assert [fact.content for fact in site.storage.load(ADA).facts]


def address_of_events(client: httpx.Client) -> str:
    """Return where the page that waits, as it is now, is announced changes."""
    sign_in(client, ADMIN)
    shown = client.get("/page/waiting?user_id=ada").text
    return html.unescape(re.findall(r'sse-connect="/memory([^"]+)"', shown)[0])


def test_what_comes_between_the_page_and_its_events_is_announced(site: Site) -> None:
    with httpx.Client(base_url=site.url) as client:
        events = address_of_events(client)

        site.services.memory.invoker.submit([HumanMessage("I live in Lisbon.")], ADA, "t1")

        with client.stream("GET", events) as stream:
            assert next(stream.iter_lines()) == "event: waiting-changed"


def test_what_the_page_shows_already_is_not_announced(site: Site) -> None:
    with httpx.Client(base_url=site.url) as client:
        events = address_of_events(client)

        with client.stream("GET", events) as stream:
            assert next(stream.iter_lines()) == ": "


def test_a_pending_change_is_accepted(site: Site, visit: Visit) -> None:
    hold_change(site)
    page = visit().open("/page/waiting")

    page.get_by_role("button", name="Accept").click()

    expect(page.locator("#waiting")).to_contain_text("Nothing waits.")
    assert [fact.content for fact in site.storage.load(ADA).facts] == ["Likes tea."]


@pytest.mark.parametrize("review", ["always"])
def test_changes_under_review_are_decided_one_by_one_with_another_wording(site: Site, visit: Visit) -> None:
    learn_in(site, "t1", "I live in Lisbon. I am vegetarian.")
    page = visit().open("/page/waiting")
    changes = page.locator("#waiting form")
    expect(changes).to_have_count(2)
    home = changes.filter(has=page.locator("input[value='Lives in Lisbon.']"))

    home.get_by_label("New text").fill("Lives in Lisbon, in the Alfama.")
    home.get_by_role("button", name="Accept").click()
    expect(changes).to_have_count(1)
    changes.get_by_role("button", name="Reject").click()

    expect(page.locator("#waiting")).to_contain_text("Nothing waits.")
    assert [fact.content for fact in site.storage.load(ADA).facts] == ["Lives in Lisbon, in the Alfama."]


@pytest.mark.parametrize("review", ["always"])
def test_new_facts_of_a_category_are_always_accepted_until_a_person_asks_again(site: Site, visit: Visit) -> None:
    learn_in(site, "t1", "I hate loud restaurants.")
    page = visit().open("/page/waiting")

    page.get_by_role("button", name='No more reviews of "preference"').click()
    expect(page.locator("#waiting")).to_contain_text("Saved without a review")
    learn_in(site, "t2", "I prefer window seats.")
    page.get_by_role("button", name="Ask again").click()

    expect(page.locator("#waiting")).not_to_contain_text("Saved without a review")
    expect(page.locator("#waiting")).to_contain_text("Nothing waits.")
    memory = site.storage.reload(ADA)
    assert (len(memory.facts), memory.pending, memory.accepted_kinds) == (2, (), ())


# -- trying an update --------------------------------------------------------------------------------


def test_an_update_runs_node_by_node_and_saves_at_the_end(site: Site, visit: Visit) -> None:
    page = begin(visit().open("/page/try"))
    for node in NODES:
        run_nodes(page, node)
        assert site.storage.load(ADA) == MemoryDocument()
    page.get_by_role("button", name="Save").click()

    expect(page.get_by_text("Saved as revision 1.")).to_be_visible()
    assert [fact.content for fact in site.storage.load(ADA).facts] == ["Lives in Lisbon."]


def test_going_back_and_discarding_save_nothing(site: Site, visit: Visit) -> None:
    page = begin(visit().open("/page/try"))
    page.get_by_role("button", name="Run filter_messages").click()
    page.get_by_role("button", name="Back").click()
    expect(page.get_by_role("button", name="Run filter_messages")).to_be_visible()

    page.get_by_role("button", name="Discard").click()

    expect(page.get_by_role("button", name="Begin")).to_be_visible()
    assert site.storage.load(ADA) == MemoryDocument()


def test_an_edited_stage_is_what_the_rest_of_the_update_works_with(site: Site, visit: Visit) -> None:
    page = begin(visit().open("/page/try"))
    run_nodes(page, *NODES[:6])
    stage = page.get_by_label("changes")
    stage.fill(stage.input_value().replace("Lives in Lisbon.", "Lives in Lisbon, in the Alfama."))
    with page.expect_response("**/edit/changes?*"):
        page.get_by_role("button", name="Use this stage").first.click()

    run_nodes(page, *NODES[6:])
    page.get_by_role("button", name="Save").click()

    expect(page.get_by_text("Saved as revision 1.")).to_be_visible()
    assert [fact.content for fact in site.storage.load(ADA).facts] == ["Lives in Lisbon, in the Alfama."]


def hold(site: Site, *changes: PendingChange, known: Sequence[Fact] = ()) -> None:
    """Let changes of Ada's memory wait next to what is known."""
    update_memory(
        site.storage,
        ADA,
        lambda memory: memory.with_facts(tuple(known)).model_copy(update={"pending": changes}),
        origin=TOOL,
    )


TOOL = ChangeOrigin(by="tool")
BUS = Fact(id="fact_bus", content="Goes to work by bus.", source="t1")
TRAM = BUS.model_copy(update={"content": "Goes to work by tram.", "source": "manual"})
BIKE = PendingChange(id="q1", facts=(Fact(id=BUS.id, content="Goes to work by bike."),), removes=(BUS.id,))
NO_BUS = PendingChange(id="q2", reason="a tool asked", removes=(BUS.id,))


def test_accepting_ends_what_the_card_strikes_through(site: Site, visit: Visit) -> None:
    """Also what a person wrote since."""
    hold(site, BIKE, known=(TRAM,))
    page = visit().open("/page/waiting")
    expect(page.locator("#waiting li")).to_have_text(["Replaces: Goes to work by tram."])
    expect(page.locator("#waiting del")).to_have_text(["Goes to work by tram."])

    page.get_by_role("button", name="Accept").click()

    expect(page.locator("#waiting")).to_contain_text("Nothing waits.")
    assert [fact.content for fact in site.storage.load(ADA).facts] == ["Goes to work by bike."]


@pytest.mark.parametrize(
    ("known", "line"),
    [
        ((BUS,), "Delete: Goes to work by bus."),
        ((TRAM,), "Stays, since a person wrote it: Goes to work by tram."),
        ((), "What it would delete is not there any more."),
    ],
)
def test_a_removal_that_waits_is_named_so(site: Site, visit: Visit, known: Sequence[Fact], line: str) -> None:
    hold(site, NO_BUS, known=known)

    page = visit().open("/page/waiting")

    expect(page.locator("#waiting li")).to_have_text([line])


def test_the_field_of_a_change_shows_all_of_its_text(site: Site, visit: Visit) -> None:
    text = "Wants to hear about the ferry to the islands, and not about the flights, which cost more. " * 3
    hold(site, PendingChange(id="q3", facts=(Fact(content=text.strip()),)))

    field = visit().open("/page/waiting").get_by_label("New text")

    expect(field).to_have_value(text.strip())
    assert field.evaluate("field => field.scrollWidth <= field.clientWidth && field.scrollHeight <= field.clientHeight")


# -- history -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "lines"),
    [(BIKE, ["Goes to work by bike.", "Replaces: Goes to work by bus."]), (NO_BUS, ["Delete: Goes to work by bus."])],
)
def test_the_history_shows_what_a_pending_change_would_do(
    site: Site, visit: Visit, change: PendingChange, lines: list[str]
) -> None:
    """As it was then, also if the fact has another content since."""
    hold(site, change, known=(BUS,))
    update_memory(site.storage, ADA, lambda memory: memory.with_facts((TRAM,)))
    page = visit().open("/page/history")

    page.locator("#r1 summary").click()

    expect(page.locator("#r1 li")).to_have_text(lines)
    expect(page.locator("#r1 summary")).to_contain_text("1 pending change")


def test_the_history_shows_what_an_agent_wrote_into_a_file(site: Site, visit: Visit) -> None:
    files = site.services.memory.files("ada")
    for text in ("Buy a tent.", "Buy a tent and a stove."):
        files.write("trips/alps.md", text)
    page = visit().open("/page/history")

    page.locator("#r2 summary").click()

    expect(page.locator("#r2 tbody th")).to_have_text(["Stored item trips/alps.md"])
    expect(page.locator("#r2 tbody td")).to_have_text(["Buy a tent.", "Buy a tent and a stove."])
    expect(page.locator("#r2 summary")).to_contain_text("1 stored item")


def test_a_revision_can_be_undone_after_it_was_compared(site: Site, visit: Visit) -> None:
    add(site, "Likes tea.", "Plays the cello.")
    page = visit().open("/page/history")
    page.locator("#r1 summary").click()
    page.locator("#r1").get_by_role("button", name="Compare with now").click()
    expect(page.locator("#r1 .since ins")).to_have_text(["Plays the cello."])

    page.locator("#r1").get_by_role("button", name="Undo").click()

    expect(page.locator("#toasts")).to_contain_text("Undone.")


def test_a_revision_shows_both_sides_and_is_undone(site: Site, visit: Visit) -> None:
    add(site, "Likes tea.", "Plays the cello.")
    page = visit().open("/page/history")
    page.locator("#r1 summary").click()
    expect(page.locator("#r1 ins")).to_have_text(["Likes tea."])

    page.locator("#r1").get_by_role("button", name="Undo").click()

    expect(page.locator("#toasts")).to_contain_text("Undone.")
    assert [fact.content for fact in site.storage.load(ADA).facts] == ["Plays the cello."]


def test_an_earlier_state_is_restored(site: Site, visit: Visit) -> None:
    add(site, "Likes tea.", "Plays the cello.")
    page = visit().open("/page/history")
    page.locator("#r1 summary").click()

    page.locator("#r1").get_by_role("button", name="Restore").click()

    expect(page.locator("#toasts")).to_contain_text("Restored.")
    assert [fact.content for fact in site.storage.load(ADA).facts] == ["Likes tea."]


def test_what_only_one_conversation_taught_is_taken_back(site: Site, visit: Visit) -> None:
    learn(site, "I live in Lisbon.", thread="holiday")
    add(site, "Likes tea.")
    page = visit().open("/page/history")

    page.get_by_label("Take back a conversation").select_option("holiday")
    page.get_by_role("button", name="Take back").click()

    expect(page.locator("#toasts")).to_contain_text("taken back")
    assert [fact.content for fact in site.storage.load(ADA).facts] == ["Likes tea."]


@pytest.mark.parametrize("author", get_args(Author))
def test_the_history_opens_with_a_revision_of_every_origin(site: Site, visit: Visit, author: Author) -> None:
    """Also after a revert or a rebuild."""
    origin = ChangeOrigin(by=author)
    update_memory(site.storage, ADA, lambda memory: add_fact(memory, "Likes tea."), origin=origin)

    page = visit().open("/page/history")

    expect(page.locator("#r1 summary")).to_contain_text(texts("en")[f"by.{author}"])


# -- health ------------------------------------------------------------------------------------------


def test_a_finding_is_fixed_by_one_click(site: Site, visit: Visit) -> None:
    learned = Fact(id="f1", content="Uploaded report.pdf.", created_at="2026-01-01T00:00:00Z", source="t1")
    update_memory(site.storage, ADA, lambda memory: memory.with_facts((learned,)))
    page = visit().open("/page/health")
    expect(page.locator(".findings li")).to_have_count(1)

    page.get_by_role("button", name="Fix").click()

    expect(page.get_by_text("The audit finds nothing.")).to_be_visible()
    assert site.storage.load(ADA).facts == ()


def test_a_document_is_imported_after_a_preview(site: Site, visit: Visit, tmp_path: Path) -> None:
    document = tmp_path / "memory.json"
    document.write_text(json.dumps({"facts": [{"content": "Likes tea."}]}), "utf-8")
    page = visit().open("/page/health")
    page.get_by_label("A memory document").set_input_files(document)
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#preview ins")).to_have_text(["Likes tea."])
    assert site.storage.load(ADA).facts == ()

    page.get_by_role("button", name="Import", exact=True).click()

    expect(page.locator("#toasts")).to_contain_text("Imported.")
    assert [fact.content for fact in site.storage.load(ADA).facts] == ["Likes tea."]


def test_a_user_is_erased_after_typing_their_id(site: Site, visit: Visit) -> None:
    add(site, "Lives in a lighthouse on the island of Vinga.")
    page = visit().open("/page/health")
    page.get_by_label("Type ada to confirm").fill("bob")
    page.get_by_role("button", name="Erase").click()
    expect(page.locator("#toasts")).to_contain_text("type the user's id to confirm")
    assert site.storage.load(ADA).facts

    page.get_by_label("Type ada to confirm").fill("ada")
    page.get_by_role("button", name="Erase").click()

    expect(page.locator("#receipt")).to_contain_text("Erased.")
    assert site.storage.load(ADA).facts == ()
