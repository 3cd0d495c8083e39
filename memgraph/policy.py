"""Policy: every number that limits what a memory learns, keeps and costs; and when a person is asked."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from memgraph.fields import ChoiceLabels, FieldSpecMixin

LANGUAGES = ChoiceLabels(auto="that of the human turns", en="English", zh="Chinese")

Review = Literal["never", "corrections", "always"]
"""When a person has to agree before something is learned.

- never: nobody is asked.
- corrections: where a correction would be added, or a known fact removed or replaced.
- always: where anything would change.
"""


class Policy(FieldSpecMixin, BaseModel):
    """The limits of a memory update. Tokens are those of tiktoken's cl100k_base."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True)

    max_facts: Annotated[int, Field(ge=10, le=10_000)] = 100
    """Learned facts kept; what a person wrote does not count."""
    fact_confidence_threshold: Annotated[float, Field(ge=0, le=1)] = 0.7
    """A proposed fact below this is not kept."""
    max_fact_chars: Annotated[int, Field(ge=100, le=2_000)] = 2_000
    """Characters of a newly written fact."""
    max_summary_tokens: Annotated[int, Field(ge=50, le=4_000)] = 1_000
    """Tokens of a newly written summary; longer ones are cut at a sentence end."""
    max_threads: Annotated[int, Field(ge=1, le=100_000)] = 1_000
    """Threads whose progress is remembered, the newest first."""
    thread_mark_ids: Annotated[int, Field(ge=1, le=100)] = 8
    """Message ids remembered a thread, so that a deleted message does not make all of it new."""
    batch_tokens: Annotated[int, Field(ge=500, le=100_000)] = 3_000
    """Tokens of new turns learned in one pass."""
    context_turns: Annotated[int, Field(ge=0, le=10)] = 2
    """Earlier turns shown to the model before the new ones."""
    signal_turns: Annotated[int, Field(ge=1, le=100)] = 6
    """Last turns searched for signals."""
    max_turn_chars: Annotated[int, Field(ge=100, le=100_000)] = 1_000
    """Characters of a turn in the prompt; of a longer one head and tail are shown."""
    prompt_facts_tokens: Annotated[int, Field(ge=200, le=20_000)] = 2_000
    """Tokens of known facts in the prompt; beyond it the most relevant and the newest are shown."""
    prompt_language: Annotated[Literal["auto", "en", "zh"], LANGUAGES] = "auto"
    """Language of the prompt; auto is that of the human turns."""
    model_tries: Annotated[int, Field(ge=1, le=10)] = 4
    """Calls of the model in all when it fails for a passing reason."""
    model_timeout_seconds: Annotated[float, Field(ge=1, le=600)] = 60
    """Time limit of one call of the model."""
    retry_wait_seconds: Annotated[float, Field(ge=0, le=60)] = 1
    """Wait before the second try; it doubles with each further one, with jitter."""
    max_races: Annotated[int, Field(ge=1, le=1_000)] = 50
    """Saves one update may lose to other writers before it gives up."""
