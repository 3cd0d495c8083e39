"""What a model is asked by default changes only where somebody meant to: a change is read in the snapshot."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from memgraph.analysis.signals import load_signals
from memgraph.models import Candidate, MemoryDocument, Prompt, Turn
from memgraph.policy import Policy
from memgraph.prompts.json_text import JsonSchema, answer_schema, upkeep_schema
from memgraph.prompts.update_prompt import update_prompt
from memgraph.prompts.upkeep_prompt import upkeep_prompt

SNAPSHOT = Path(__file__).parent / "snapshots" / "defaults.json"
"""Written by `python tests/prompts/test_default_texts.py`."""
NOW = datetime(2026, 5, 3, 12, tzinfo=UTC)
MEMORY = MemoryDocument.model_validate(
    {
        "user": {"workContext": "Works at Acme.", "topOfMind": "Moves house."},
        "history": {"recentMonths": "Learned Rust."},
        "facts": [
            {
                "id": "fact_00000001",
                "content": "Likes tea.",
                "category": "preference",
                "createdAt": "2026-04-01T00:00:00Z",
            },
            {
                "id": "fact_00000002",
                "content": "Allergic to nuts.",
                "category": "allergy",
                "createdAt": "2026-04-02T00:00:00Z",
            },
            {
                "id": "fact_00000003",
                "content": "Wants to sail.",
                "category": "goal",
                "createdAt": "2024-04-02T00:00:00Z",
            },
        ],
    }
)
TURNS = [Turn(id="1", role="human", text="I moved to Rome.", at="2026-05-03T10:00:00Z")]
POLICIES = {
    f"{language} {summaries}": Policy.model_validate({"prompt_language": language, "summaries": summaries})
    for language in ("en", "zh")
    for summaries in ("update", "upkeep")
}


def update_prompt_of(policy: Policy) -> Prompt:
    """Return the prompt of an update of MEMORY."""
    signals = load_signals()
    return update_prompt(MEMORY, TURNS, {"1"}, ["identity"], policy=policy, signals=signals, now=NOW)


def upkeep_prompt_of(policy: Policy) -> Prompt:
    """Return the prompt of an upkeep of MEMORY."""
    candidates = [
        Candidate.make("stale", ("fact_00000003",), "old"),
        Candidate.make("summaries", ("fact_00000001", "fact_00000002"), "new"),
    ]
    return upkeep_prompt(MEMORY, candidates, policy=policy, now=NOW)


def current_texts() -> dict[str, object]:
    """Return the prompts, the schemas and a document of today."""
    schemas: dict[str, JsonSchema] = {}
    for strict in (True, False):
        schemas[f"upkeep {strict}"] = upkeep_schema(Policy(), strict)
        for name, policy in POLICIES.items():
            schemas[f"update {name} {strict}"] = answer_schema(policy, strict)
    return {
        "update": {name: update_prompt_of(policy).model_dump() for name, policy in POLICIES.items()},
        "upkeep": {name: upkeep_prompt_of(policy).model_dump() for name, policy in POLICIES.items()},
        "schemas": schemas,
        "document": MEMORY.model_dump_json(by_alias=True),
    }


def test_the_defaults_change_no_byte_of_what_a_model_is_asked_nor_of_a_document() -> None:
    before = json.loads(SNAPSHOT.read_text(encoding="utf-8"))

    now = json.loads(json.dumps(current_texts()))

    assert now == before


if __name__ == "__main__":
    SNAPSHOT.write_text(
        json.dumps(current_texts(), ensure_ascii=False, indent=1, sort_keys=True) + "\n", encoding="utf-8"
    )
