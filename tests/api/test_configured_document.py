"""Custom categories and summaries over HTTP."""

from __future__ import annotations

import pytest
from api_tokens import ApiCall

from memgraph import MemoryDocument, MemoryStorage, Scope, Settings
from memgraph.categories import Category
from memgraph.sections import SummarySection

REFUSAL = "there is no category 'goal'; there are allergy, context, correction"


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Settings with a category and a summary of their own."""
    return settings.model_copy(
        update={
            "categories": (Category(name="allergy", description="foods to avoid"),),
            "sections": (SummarySection(name="pets", instruction="animals at home"),),
        }
    )


def test_a_fact_has_a_configured_category(call: ApiCall) -> None:
    added = call("POST", "facts", json={"content": "Allergic to nuts.", "category": "allergy"}, user_id="ada")
    refused = call("POST", "facts", json={"content": "Wants to sail.", "category": "goal"}, user_id="ada")

    assert added.json()["fact"]["category"] == "allergy"
    assert (refused.status_code, refused.json()["detail"]) == (422, REFUSAL)
    assert call("GET", "facts", user_id="ada", category="allergy").json()["total"] == 1


def test_the_status_lists_the_categories(call: ApiCall) -> None:
    assert call("GET", "status").json()["categories"] == ["allergy", "context", "correction"]


def test_a_custom_summary_is_written(call: ApiCall) -> None:
    """Also one that is no longer configured but is there; any other is refused."""
    written = call("PUT", "summaries/pets", json={"summary": "Has a cat."}, if_match="*", user_id="ada")
    refused = call("PUT", "summaries/topOfMind", json={"summary": "Moves."}, if_match="*", user_id="ada")

    assert (written.status_code, written.json()["section"]["summary"]) == (200, "Has a cat.")
    assert (refused.status_code, refused.json()["detail"]) == (422, "there is no summary 'top_of_mind'; there are pets")
    assert call("GET", "document", user_id="ada").json()["customSections"]["pets"]["summary"] == "Has a cat."
    assert call("GET", "status").json()["sections"] == ["pets"]


def test_the_profile_is_in_the_document(call: ApiCall, storage: MemoryStorage) -> None:
    storage.save(Scope("ada"), MemoryDocument.model_validate({"profile": {"values": {"diet": "vegan"}}}))

    assert call("GET", "document", user_id="ada").json()["profile"]["values"] == {"diet": "vegan"}
