"""Custom categories and summaries on the page."""

from __future__ import annotations

import pytest
from conftest_page import ADA, Site, Visit
from playwright.sync_api import expect

from memgraph.categories import Category
from memgraph.models import Fact, MemoryDocument, Section
from memgraph.sections import SummarySection

OWN = (Category(name="allergy", description="foods and drugs to avoid"),)


@pytest.mark.parametrize("categories", [OWN])
def test_a_fact_is_added_and_filtered_by_a_configured_category(site: Site, visit: Visit) -> None:
    site.storage.save(ADA, MemoryDocument(facts=(Fact(content="Likes tea.", category="preference"),)))
    page = visit().open("/")
    page.get_by_text("Add a fact").click()
    form = page.locator(".add form")

    form.get_by_role("textbox").fill("Allergic to nuts.")
    form.get_by_label("Category").select_option("allergy")
    form.get_by_role("button").click()
    expect(page.locator("#facts h2")).to_have_text(["allergy", "Preferences"])
    page.get_by_text("Filter").click()
    page.locator("#filters").get_by_label("Category").select_option("allergy")

    expect(page.locator("#facts .content")).to_have_text(["Allergic to nuts."])
    assert site.storage.load(ADA).facts[-1].category == "allergy"


def test_an_edited_fact_keeps_a_category_that_is_no_longer_configured(site: Site, visit: Visit) -> None:
    site.storage.save(ADA, MemoryDocument(facts=(Fact(content="Allergic to nuts.", category="allergy"),)))
    page = visit().open("/")

    page.get_by_text("Allergic to nuts.").click()
    page.get_by_label("Edit").fill("Allergic to all nuts.")
    page.locator(".fact").get_by_role("button", name="Save").click()

    expect(page.locator("#facts .content")).to_have_text(["Allergic to all nuts."])
    assert site.storage.load(ADA).facts[0].category == "allergy"


@pytest.mark.parametrize("sections", [(SummarySection(name="petNotes", instruction="animals at home"),)])
def test_a_custom_summary_is_written_and_others_are_shown_if_they_have_a_text(site: Site, visit: Visit) -> None:
    site.storage.save(ADA, MemoryDocument().with_section("top_of_mind", Section(summary="Moves house.")))
    page = visit().open("/")
    expect(page.locator("form.card h3")).to_have_text(["Top of mind", "Pet notes"])
    page.get_by_text("Write a summary").click()

    page.get_by_label("Pet notes").fill("Has a cat.")
    page.locator("#summary-petNotes").get_by_role("button", name="Save").click()

    expect(page.locator("#toasts")).to_contain_text("Saved")
    assert site.storage.load(ADA).section("petNotes").summary == "Has a cat."


def test_the_profile_is_shown(site: Site, visit: Visit) -> None:
    site.storage.save(ADA, MemoryDocument.model_validate({"profile": {"values": {"languages": ["Dutch", "Thai"]}}}))

    page = visit().open("/")

    expect(page.locator("[aria-labelledby=profile-title] dl")).to_have_text("languagesDutch, Thai")
