"""Categories of one's own over HTTP."""

from __future__ import annotations

import pytest
from api_tokens import ApiCall

from memgraph import Settings
from memgraph.categories import Category

REFUSAL = "there is no category 'goal'; there are allergy, context, correction"


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Settings with a category of their own."""
    return settings.model_copy(update={"categories": (Category(name="allergy", description="foods to avoid"),)})


def test_a_fact_has_a_configured_category(call: ApiCall) -> None:
    added = call("POST", "facts", json={"content": "Allergic to nuts.", "category": "allergy"}, user_id="ada")
    refused = call("POST", "facts", json={"content": "Wants to sail.", "category": "goal"}, user_id="ada")

    assert added.json()["fact"]["category"] == "allergy"
    assert (refused.status_code, refused.json()["detail"]) == (422, REFUSAL)
    assert call("GET", "facts", user_id="ada", category="allergy").json()["total"] == 1


def test_the_status_lists_the_categories(call: ApiCall) -> None:
    assert call("GET", "status").json()["categories"] == ["allergy", "context", "correction"]
