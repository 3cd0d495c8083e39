"""What a reader sees first, and what outlives a change on the page."""

from __future__ import annotations

import pytest
from conftest_page import ADA, ADA_TOKEN, Site, Visit, add, begin, hold_change, learn
from langchain_core.embeddings import Embeddings
from langchain_core.messages import HumanMessage
from playwright.sync_api import APIResponse, Dialog, Locator, Page, Route, expect

from memgraph.editing import edit_fact, update_memory
from memgraph.models import AsSaid, Evidence, Fact, MemoryDocument, PastFact, Scope, Section
from memgraph.retrieval.pipeline import RecallPipeline


def unfold(page: Page, content: str) -> None:
    """Unfold the card of a fact, and wait for its form."""
    page.locator(".facts summary").filter(has_text=content).click()
    expect(card(page, content).get_by_label("Edit")).to_be_visible()


def card(page: Page, content: str) -> Locator:
    """Return the card of a fact."""
    return page.locator(".facts > li").filter(has_text=content)


# -- what is seen first ------------------------------------------------------------------------------


@pytest.mark.parametrize(("width", "most"), [(1_280, 300), (360, 400)])
def test_the_first_fact_is_near_the_top(site: Site, visit: Visit, width: int, most: int) -> None:
    """Also with other users, and something that waits."""
    add(site, "Likes tea.")
    site.storage.save(Scope("bob"), MemoryDocument(facts=(Fact(content="Likes coffee."),)))

    page = visit(width=width).open()

    assert page.locator(".facts .content").first.evaluate("it => it.getBoundingClientRect().top") <= most


def test_a_card_has_the_sentence_the_day_the_words_and_where_it_is_from(site: Site, visit: Visit) -> None:
    learn(site, "I live in Lisbon.", thread="holiday", at="2026-03-02T10:00:00Z")

    shown = visit().open().locator(".facts summary").first

    expect(shown.locator(".content")).to_have_text("Lives in Lisbon.")
    expect(shown.locator("q.words")).to_have_text("I live in Lisbon")
    expect(shown.locator(".meta")).to_contain_text("since Mar 2, 2026")
    expect(shown.locator(".meta")).to_contain_text("learned in holiday")
    expect(shown.locator(".chip")).to_have_text("Plain fact")


def test_a_card_names_no_conversation_if_none_is_known(site: Site, visit: Visit) -> None:
    learn(site, "I live in Turku.", thread="")

    page = visit().open()

    expect(page.locator(".facts .meta")).to_contain_text("learned")
    expect(page.locator("main")).not_to_contain_text("unknown")


def test_a_card_names_a_claim_as_said_and_a_person_as_the_author(site: Site, visit: Visit) -> None:
    claim = AsSaid(id="c1", content="Is a US resident.", evidence=(Evidence(quote="Got my card!"),), reason="in doubt")
    site.storage.save(ADA, MemoryDocument(as_said=(claim,)))
    add(site, "Likes tea.")

    page = visit().open()

    expect(card(page, "Likes tea.").locator(".meta")).to_contain_text("written by a person")
    expect(card(page, "Got my card!").locator(".chip")).to_have_text("As said")


def test_without_a_summary_there_is_one_small_way_to_write_the_first_one(site: Site, visit: Visit) -> None:
    add(site, "Likes tea.")
    page = visit().open()
    expect(page.locator("textarea:visible")).to_have_count(0)
    expect(page.locator("#summaries > details")).to_have_count(1)

    page.get_by_text("Write a summary").click()
    page.get_by_label("Work", exact=True).fill("Builds bridges.")
    page.get_by_role("button", name="Save").first.click()

    expect(page.locator("#summaries-written h2")).to_have_text("Summaries 1")
    expect(page.locator("#summaries-written textarea")).to_be_hidden()


def test_the_users_are_a_list_to_choose_from(site: Site, visit: Visit) -> None:
    add(site, "Likes tea.")
    site.storage.save(Scope("bob"), MemoryDocument(facts=(Fact(content="Likes coffee."),)))
    page = visit().open()

    page.get_by_role("navigation", name="Users").get_by_role("link", name="bob").click()

    expect(page.locator(".facts .content")).to_have_text(["Likes coffee."])


def test_a_user_is_listed_no_other_user(site: Site, visit: Visit) -> None:
    add(site, "Likes tea.")
    site.storage.save(Scope("bob"), MemoryDocument(facts=(Fact(content="Likes coffee."),)))

    page = visit(ADA_TOKEN).open()

    expect(page.locator(".users li")).to_have_text(["ada"])


def test_the_tab_counts_the_conversations_that_wait_for_this_user(site: Site, visit: Visit) -> None:
    for user in ("ada", "bob"):
        site.services.memory.invoker.submit([HumanMessage("I live in Lisbon.")], Scope(user), "t1")

    page = visit().open()

    expect(page.locator("#waiting-count")).to_have_text("1")


def test_the_tab_counts_what_waits(site: Site, visit: Visit) -> None:
    hold_change(site)
    page = visit().open("/page/waiting")
    tab = page.get_by_role("navigation", name="Pages").get_by_role("link", name="Waiting")
    expect(tab).to_have_text("Waiting 1")

    page.get_by_role("button", name="Accept").click()

    expect(tab).to_have_text("Waiting")


# -- dates -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("2026-05-20T11:58:00Z", "2 minutes ago"),
        ("2026-05-20T09:00:00Z", "3 hours ago"),
        ("2026-05-19T08:00:00Z", "yesterday"),
        ("2026-03-02T08:00:00Z", "2 months ago"),
        ("2026-05-20T00:00:00Z", "today"),
    ],
)
def test_times_are_relative_to_now(site: Site, visit: Visit, said: str, expected: str) -> None:
    site.storage.save(ADA, MemoryDocument(facts=(Fact(content="Likes tea.", said_at=said),)))
    visitor = visit()
    visitor.page.clock.set_fixed_time("2026-05-20T12:00:00Z")

    page = visitor.open()

    expect(page.locator(".facts .meta time").nth(1)).to_have_text(expected)


@pytest.mark.parametrize(
    ("day", "expected"), [("2024", "2024"), ("2024-03", "Mar 2024"), ("2024-03-02", "Mar 2, 2024")]
)
def test_a_day_has_no_clock_time(site: Site, visit: Visit, day: str, expected: str) -> None:
    site.storage.save(ADA, MemoryDocument(facts=(Fact(content="Likes tea.", valid_from=day),)))

    shown = visit().open().locator(".facts .meta time").first

    expect(shown).to_have_text(expected)
    expect(shown).to_have_attribute("title", expected)


# -- search ------------------------------------------------------------------------------------------


def test_a_search_finds_what_is_past(site: Site, visit: Visit) -> None:
    old = PastFact(
        content="Lives in Lisbon.", ended_at="2026-04-02T10:00:00Z", reason="superseded", valid_until="2026-04"
    )
    site.storage.save(ADA, MemoryDocument(facts=(Fact(content="Plays the cello."),), past=(old,)))
    page = visit().open()

    page.get_by_label("Search").first.fill("where did she live? in Lisbon?")

    expect(page.locator("#facts .content")).to_have_text(["Lives in Lisbon."])
    expect(page.locator("#facts .meta").nth(1)).to_contain_text("until Apr 2, 2026 (superseded)")


class FamilyEmbeddings(Embeddings):
    """Places what names children apart from everything else."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [1.0, 0.0] if {"kids", "daughter"} & {*text.strip(".").split()} else [0.0, 1.0]


def test_a_search_finds_by_meaning_and_puts_the_best_first(
    site: Site, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = RecallPipeline(ranker="hybrid", embeddings=FamilyEmbeddings())
    monkeypatch.setattr(site.services.memory, "_pipeline", pipeline)
    add(site, "Plays the cello.", "Has a daughter.", "Loves jazz, and has children's books.")
    page = visit().open()

    page.get_by_label("Search").first.fill("which kids does she have")

    expect(page.locator("#facts .content").filter(has_text="cello")).to_have_count(0)
    expect(page.locator("#facts .content").first).to_be_visible()
    expect(page.locator("#facts .content").first).to_contain_text("daughter")


# -- changes -----------------------------------------------------------------------------------------


def test_saving_one_fact_keeps_what_is_typed_elsewhere(site: Site, visit: Visit) -> None:
    add(site, "Likes tea.", "Plays the cello.")
    page = visit().open()
    unfold(page, "Likes tea.")
    unfold(page, "Plays the cello.")
    page.get_by_text("Write a summary").click()
    page.get_by_label("Personal").fill("Half a summary")
    card(page, "Plays the cello.").get_by_label("Edit").fill("Plays the cello at home.")

    card(page, "Likes tea.").get_by_label("Edit").fill("Likes green tea.")
    card(page, "Likes tea.").get_by_role("button", name="Save").click()
    expect(page.locator(".facts .content").filter(has_text="Likes green tea.")).to_be_visible()

    expect(page.get_by_label("Personal")).to_have_value("Half a summary")
    expect(card(page, "Plays the cello.").get_by_label("Edit")).to_have_value("Plays the cello at home.")
    card(page, "Plays the cello.").get_by_role("button", name="Save").click()
    expect(page.locator(".facts .content").filter(has_text="at home")).to_be_visible()
    assert {fact.content for fact in site.storage.load(ADA).facts} == {"Likes green tea.", "Plays the cello at home."}


def test_a_fact_that_is_saved_by_the_keyboard_keeps_the_focus(site: Site, visit: Visit) -> None:
    """On its card, in the new list."""
    add(site, "Likes tea.", "Plays the cello.")
    page = visit().open()
    unfold(page, "Likes tea.")
    card(page, "Likes tea.").get_by_label("Edit").fill("Likes green tea.")
    with page.expect_response("**/page/facts?**"):
        page.keyboard.press("Enter")

    expect(card(page, "Likes green tea.").locator("summary")).to_be_focused()


def test_a_save_far_down_a_long_list_keeps_its_place(site: Site, visit: Visit) -> None:
    def fill(memory: MemoryDocument) -> MemoryDocument:
        return memory.with_facts(tuple(Fact(id=f"fact_{n}", content=f"Owns stamp {n}.") for n in range(140)))

    update_memory(site.storage, ADA, fill)
    page = visit().open()
    for shown in (100, 140):
        page.locator(".facts > li").last.scroll_into_view_if_needed()
        page.mouse.wheel(0, 5_000)
        expect(page.locator(".facts > li")).to_have_count(shown)
    unfold(page, "Owns stamp 120.")
    card(page, "Owns stamp 120.").get_by_label("Edit").fill("Sold stamp 120.")

    with page.expect_response("**/page/facts?**"):
        page.keyboard.press("Enter")

    expect(card(page, "Sold stamp 120.").locator("summary")).to_be_focused()
    expect(page.locator(".facts > li")).to_have_count(140)
    expect(card(page, "Sold stamp 120.")).to_be_in_viewport()


def test_the_browser_asks_before_it_leaves_text_that_is_not_saved(site: Site, visit: Visit) -> None:
    """And not after it was saved."""
    add(site, "Likes tea.")
    page = visit().open()
    asked: list[str] = []

    def stay(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.dismiss()

    page.on("dialog", stay)
    unfold(page, "Likes tea.")
    card(page, "Likes tea.").get_by_label("Edit").fill("Likes green")

    page.get_by_role("link", name="History").click()
    expect(card(page, "Likes tea.").get_by_label("Edit")).to_have_value("Likes green")
    assert asked == ["beforeunload"]

    card(page, "Likes tea.").get_by_role("button", name="Save").click()
    expect(page.locator("#toasts")).to_contain_text("Saved.")
    page.get_by_role("link", name="History").click()
    expect(page.get_by_role("heading", name="History")).to_be_visible()
    assert asked == ["beforeunload"]


def test_saving_one_fact_leaves_another_unfolded(site: Site, visit: Visit) -> None:
    add(site, "Likes tea.", "Plays the cello.")
    page = visit().open()
    unfold(page, "Likes tea.")
    unfold(page, "Plays the cello.")

    card(page, "Likes tea.").get_by_label("Edit").fill("Likes green tea.")
    card(page, "Likes tea.").get_by_role("button", name="Save").click()
    expect(page.locator(".facts .content").filter(has_text="Likes green tea.")).to_be_visible()

    expect(card(page, "Plays the cello.").get_by_label("Edit")).to_be_visible()
    expect(card(page, "Likes green tea.").get_by_label("Edit")).to_have_count(0)


def test_twenty_edits_from_one_open_page_do_not_conflict(site: Site, visit: Visit) -> None:
    add(site, "Likes tea, 0.", "Plays the cello.")
    page = visit().open()
    page.get_by_text("Write a summary").click()

    for number in range(1, 11):
        unfold(page, f"Likes tea, {number - 1}.")
        card(page, "Likes tea").get_by_label("Edit").fill(f"Likes tea, {number}.")
        card(page, "Likes tea").get_by_role("button", name="Save").click()
        expect(page.locator(".facts .content").filter(has_text=f"Likes tea, {number}.")).to_be_visible()
        page.get_by_label("Personal").fill(f"Summary {number}")
        with page.expect_response("**/page/summaries/**"):
            page.locator("#summary-personal_context").get_by_role("button").click()
        expect(page.locator("#summaries-written textarea")).to_have_value(f"Summary {number}")
        if number == 1:
            page.locator("#summaries-written > summary").click()

    expect(page.locator(".toast.error")).to_have_count(0)
    memory = site.storage.load(ADA)
    assert (memory.revision, memory.user.personal_context.summary) == (22, "Summary 10")


def test_a_late_answer_does_not_bring_back_what_a_summary_said_before(site: Site, visit: Visit) -> None:
    update_memory(site.storage, ADA, lambda memory: memory.with_section("personal_context", Section(summary="First.")))
    add(site, "Likes tea.")
    page = visit().open()
    late: list[tuple[Route, APIResponse]] = []

    def hold_the_first(route: Route) -> None:
        if late or "hx-request" not in route.request.headers:
            route.continue_()
        else:
            late.append((route, route.fetch()))

    page.route("**/memory/?*", hold_the_first)
    unfold(page, "Likes tea.")
    card(page, "Likes tea.").get_by_label("Edit").fill("Likes green tea.")
    card(page, "Likes tea.").get_by_role("button", name="Save").click()
    expect(page.locator(".facts .content").filter(has_text="Likes green tea.")).to_be_visible()
    page.locator("#summaries-written > summary").click()
    page.get_by_label("Personal").fill("Second.")
    with page.expect_response("**/page/summaries/**"):
        page.locator("#summary-personal_context").get_by_role("button").click()
    for route, answer in late:
        route.fulfill(response=answer)
    page.wait_for_load_state("networkidle")

    assert len(late) == 1
    expect(page.locator("#summaries-written textarea")).to_have_value("Second.")
    expect(page.locator("#summary-personal_context")).not_to_have_attribute("data-unsaved", "")


def test_two_saves_of_one_form_in_a_row_do_not_conflict(site: Site, visit: Visit) -> None:
    add(site, "Likes tea.")
    page = visit().open()
    unfold(page, "Likes tea.")
    form = card(page, "Likes tea.").locator("form")

    form.evaluate("""form => {
        for (const text of ["Likes green tea.", "Likes black tea."]) {
            form.elements.content.value = text;
            form.elements.content.dispatchEvent(new Event("input", { bubbles: true }));
            form.requestSubmit();
        }
    }""")

    expect(page.locator(".facts .content")).to_have_text(["Likes black tea."])
    expect(page.locator(".toast.error")).to_have_count(0)


def test_an_edit_conflicts_with_another_edit_of_the_same_fact_only(site: Site, visit: Visit) -> None:
    mine, other = add(site, "Likes tea.", "Plays the cello.")
    page = visit().open()
    unfold(page, "Likes tea.")
    form = card(page, "Likes tea.")

    update_memory(site.storage, ADA, lambda memory: edit_fact(memory, other, content="Plays the viola."))
    form.get_by_label("Edit").fill("Likes green tea.")
    form.get_by_role("button", name="Save").click()
    expect(page.locator("#toasts")).to_contain_text("Saved.")
    unfold(page, "Likes green tea.")
    update_memory(site.storage, ADA, lambda memory: edit_fact(memory, mine, content="Likes coffee."))
    card(page, "Likes green tea.").get_by_label("Edit").fill("Likes black tea.")
    card(page, "Likes green tea.").get_by_role("button", name="Save").click()

    expect(page.locator(".toast.error")).to_contain_text("This was changed meanwhile.")
    assert [fact.content for fact in site.storage.load(ADA).facts] == ["Likes coffee.", "Plays the viola."]


def test_a_summary_does_not_conflict_with_another_summary(site: Site, visit: Visit) -> None:
    page = visit().open()
    page.get_by_text("Write a summary").click()
    written = Section(summary="Builds bridges.")
    update_memory(site.storage, ADA, lambda memory: memory.with_section("work_context", written))

    page.get_by_label("Personal").fill("Has a cat.")
    page.locator("form").filter(has=page.get_by_label("Personal")).get_by_role("button").click()

    expect(page.locator("#toasts")).to_contain_text("Saved.")
    assert site.storage.load(ADA).user.work_context.summary == "Builds bridges."


def test_a_message_about_a_change_passes(site: Site, visit: Visit) -> None:
    visitor = visit()
    visitor.page.clock.install()
    page = visitor.open()
    page.get_by_text("Add a fact").click()
    page.get_by_label("The fact").fill("Likes tea.")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator(".toast")).to_be_visible()
    page.mouse.move(0, 0)

    page.clock.fast_forward(30_000)

    expect(page.locator(".toast")).to_have_count(0)


def test_the_history_has_a_change_at_once(site: Site, visit: Visit) -> None:
    add(site, "Likes tea.")
    page = visit().open("/page/history")
    page.locator("#r1 summary").click()

    page.locator("#r1").get_by_role("button", name="Undo").click()

    expect(page.locator(".revisions > li")).to_have_count(2)


# -- trying an update --------------------------------------------------------------------------------


def test_the_outcome_of_an_update_is_one_sentence(site: Site, visit: Visit) -> None:
    """Before anything is saved, and afterwards."""
    page = begin(visit().open("/page/try"))

    page.get_by_role("button", name="Show what it learns").click()

    expect(page.locator(".outcome")).to_have_text("This would learn “Lives in Lisbon.”; held back nothing.")
    assert site.storage.load(ADA) == MemoryDocument()
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".outcome")).to_have_text("Learned “Lives in Lisbon.”; held back nothing.")


@pytest.mark.parametrize("review", ["always"])
def test_the_outcome_names_what_is_held_back(site: Site, visit: Visit) -> None:
    page = begin(visit().open("/page/try"))

    page.get_by_role("button", name="Show what it learns").click()

    expect(page.locator(".outcome")).to_contain_text("This would learn nothing; held back “Lives in Lisbon.")
