"""The memory on the page: read, search, add, edit, delete and undo."""

from __future__ import annotations

import httpx
import pytest
from conftest_page import ADA, ADA_TOKEN, ADMIN, Site, Visit, add, learn, sign_in
from playwright.sync_api import expect

from memgraph.models import AsSaid, Evidence, MemoryDocument


def contents(site: Site) -> list[str]:
    return [fact.content for fact in site.storage.load(ADA).facts]


def test_a_fact_is_added_by_typing_it(site: Site, visit: Visit) -> None:
    page = visit().open()
    page.get_by_text("Add a fact").click()
    page.get_by_label("The fact").fill("Prefers tea to coffee.")
    page.get_by_role("button", name="Add", exact=True).click()

    expect(page.locator(".facts .content")).to_have_text(["Prefers tea to coffee."])
    assert contents(site) == ["Prefers tea to coffee."]


def test_typed_text_stays_if_the_change_is_refused(site: Site, visit: Visit) -> None:
    """Nothing that a person typed is lost, however long it is."""
    add(site, "Prefers tea to coffee.")
    visitor = visit()
    page = visitor.open()
    page.get_by_text("Add a fact").click()
    for text, problem in (("Prefers tea to coffee.", "already has"), ("x" * 2_001, "2,000 characters")):
        page.get_by_label("The fact").fill(text)
        page.get_by_role("button", name="Add", exact=True).click()

        expect(page.locator(".toast.error").last).to_contain_text(problem)
        expect(page.get_by_label("The fact")).to_have_value(text)
    page.locator(".facts summary").first.click()
    page.locator(".fact").get_by_label("Edit").fill("a\u200bb")
    page.locator(".fact").get_by_role("button", name="Save").click()

    expect(page.locator(".toast.error").last).to_contain_text("hidden")
    expect(page.locator(".fact").get_by_label("Edit")).to_be_visible()
    visitor.problems.clear()  # the console reports each refusal


def test_a_server_that_does_not_answer_is_reported(visit: Visit) -> None:
    visitor = visit()
    page = visitor.open()
    page.get_by_text("Add a fact").click()
    page.get_by_label("The fact").fill("Sews.")
    page.route("**/page/facts*", lambda route: route.abort())
    page.get_by_role("button", name="Add", exact=True).click()

    expect(page.locator(".toast.error")).to_contain_text("does not answer")
    expect(page.get_by_label("The fact")).to_have_value("Sews.")
    visitor.problems.clear()


def test_facts_are_searched_while_typing(site: Site, visit: Visit) -> None:
    add(site, "Lives in Lisbon.", "Plays the cello.", "住在杭州")
    page = visit().open()

    page.get_by_label("Search").first.press_sequentially("cel")

    expect(page.locator(".facts .content")).to_have_text(["Plays the cello."])
    expect(page.locator(".facts mark")).to_have_text(["cel"])


def test_a_fact_unfolds_to_the_words_it_rests_on(site: Site, visit: Visit) -> None:
    learn(site, "I live in Lisbon.", thread="holiday")
    page = visit().open()

    page.locator(".facts summary").first.click()

    expect(page.locator(".fact q")).to_have_text(["I live in Lisbon"])
    expect(page.locator(".fact")).to_contain_text("holiday")
    expect(page.locator(".fact")).to_contain_text("Revisions")


def test_a_claim_that_is_kept_as_said_is_made_a_fact_by_an_edit(site: Site, visit: Visit) -> None:
    """The page lists its words and why it is no fact."""
    claim = AsSaid(id="c1", content="Is a US resident.", evidence=(Evidence(quote="Got my card!"),), reason="in doubt")
    site.storage.save(ADA, MemoryDocument(as_said=(claim,)))
    page = visit().open()
    expect(page.locator("q.content")).to_have_text(["Got my card!"])
    page.locator("q.content").click()
    expect(page.locator(".fact")).to_contain_text("in doubt")

    page.locator(".fact").get_by_label("Edit").fill("Has a green card.")
    page.locator(".fact").get_by_role("button", name="Save").click()

    expect(page.locator(".facts .content")).to_have_text(["Has a green card."])
    assert contents(site) == ["Has a green card."]


def test_an_edited_fact_is_saved_as_a_persons(site: Site, visit: Visit) -> None:
    learn(site, "I live in Lisbon.")
    page = visit().open()
    page.locator(".facts summary").first.click()

    page.locator(".fact").get_by_label("Edit").fill("Lives in Porto.")
    page.locator(".fact").get_by_role("button", name="Save").click()

    expect(page.locator(".facts .content")).to_have_text(["Lives in Porto."])
    assert [fact.is_manual for fact in site.storage.load(ADA).facts] == [True]


def test_a_deleted_fact_comes_back_by_the_undo_of_the_message(site: Site, visit: Visit) -> None:
    add(site, "Likes tea.")
    page = visit().open()
    page.locator(".facts summary").first.click()
    page.get_by_role("button", name="Delete").click()
    expect(page.locator(".facts .content")).to_have_count(0)

    page.locator("#toasts").get_by_role("button", name="Undo").click()

    expect(page.locator(".facts .content")).to_have_text(["Likes tea."])
    assert contents(site) == ["Likes tea."]


def test_a_summary_is_edited_in_place(site: Site, visit: Visit) -> None:
    add(site, "Likes tea.")
    page = visit().open()
    page.get_by_text("Write a summary").click()
    page.get_by_label("Work", exact=True).fill("Builds bridges.")

    page.get_by_role("button", name="Save").first.click()

    expect(page.locator("#toasts")).to_contain_text("Saved.")
    assert site.storage.load(ADA).user.work_context.summary == "Builds bridges."


@pytest.mark.parametrize(("choice", "expected"), [("Overwrite", "Mine."), ("Reload", "Theirs.")])
def test_an_edit_of_a_summary_that_changed_meanwhile_asks(site: Site, visit: Visit, choice: str, expected: str) -> None:
    """Two users in two windows, the administrator and Ada: the one who saves last decides."""
    add(site, "Likes tea.")
    mine, theirs = visit(ADA_TOKEN).open(), visit().open()
    for page, text in ((mine, "Mine."), (theirs, "Theirs.")):
        page.get_by_text("Write a summary").click()
        page.get_by_label("Work", exact=True).fill(text)
    theirs.get_by_role("button", name="Save").first.click()
    expect(theirs.locator("#toasts")).to_contain_text("Saved.")

    mine.get_by_role("button", name="Save").first.click()
    mine.get_by_role("button", name=choice).click()

    expect(mine.get_by_label("Work", exact=True)).to_have_value(expected)
    expect(mine.locator(".toast.error")).to_have_count(0)
    assert site.storage.load(ADA).user.work_context.summary == expected


def test_the_slider_shows_the_memory_as_of_a_day(site: Site, visit: Visit) -> None:
    learn(site, "I live in Lisbon.", at="2024-03-02T10:00:00Z")
    learn(site, "I moved to Porto.", at="2026-04-02T10:00:00Z")
    page = visit().open()
    expect(page.locator(".facts .content")).to_contain_text(["Porto"])

    page.get_by_text("Filter").click()
    slider = page.get_by_label("As of")
    slider.focus()
    slider.press("Home")

    expect(page.locator(".facts .content")).to_contain_text(["Lisbon"])


def test_what_was_said_is_listed_by_day_and_searched(site: Site, visit: Visit) -> None:
    learn(site, "I live in Lisbon.", at="2024-03-02T10:00:00Z")
    learn(site, "The fog was thick on the ridge.", at="2024-05-07T10:00:00Z")
    page = visit().open()
    expect(page.locator(".episodes li")).to_have_count(2)

    page.get_by_label("Search").nth(1).press_sequentially("fog")

    expect(page.locator(".episodes li")).to_have_count(1)
    expect(page.get_by_role("heading", name="May 7, 2024")).to_be_visible()


def test_what_was_said_is_narrowed_to_a_conversation(site: Site, visit: Visit) -> None:
    learn(site, "I live in Lisbon.", thread="home")
    learn(site, "The fog was thick on the ridge.", thread="hike")
    page = visit().open()
    expect(page.locator(".episodes li")).to_have_count(2)

    page.get_by_label("Conversation").select_option("hike")

    expect(page.locator(".episodes li")).to_have_count(1)
    expect(page.locator(".episodes li")).to_contain_text("fog")


def test_a_fact_is_added_and_unfolded_by_the_keyboard_alone(site: Site, visit: Visit) -> None:
    page = visit().open()
    page.get_by_text("Add a fact").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.type("Prefers tea to coffee.")
    page.keyboard.press("Enter")
    expect(page.locator(".facts .content")).to_have_text(["Prefers tea to coffee."])

    page.locator(".facts summary").first.focus()
    page.keyboard.press("Enter")

    expect(page.locator(".fact dl")).to_be_visible()
    assert contents(site) == ["Prefers tea to coffee."]


@pytest.mark.parametrize(
    ("path", "one", "two"),
    [
        ("/?lang=en", "Revision 1, 1 fact.", "Revision 2, 2 facts."),
        ("/?lang=zh", "第 1 版，1 条事实。", "第 2 版，2 条事实。"),
        ("/page/facts?source=t1", "1 fact<", "2 facts<"),
        ("/page/episodes?", "1 message<", "2 messages<"),
        ("/page/history?", "1 fact, 0 summaries", "1 fact, 0 summaries"),
    ],
)
def test_a_count_agrees_with_its_noun(site: Site, path: str, one: str, two: str) -> None:
    with httpx.Client(base_url=site.url) as client:
        sign_in(client, ADMIN)
        learn(site, "I live in Lisbon.")
        first = client.get(f"{path}&user_id=ada").text
        learn(site, "I play the cello.", at="2026-05-02T10:00:00Z")
        second = client.get(f"{path}&user_id=ada").text

    assert (one in first, two in second) == (True, True)
