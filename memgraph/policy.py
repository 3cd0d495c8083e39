"""Policy: the limits of a memory update, and when a person must approve it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Annotated, Literal, cast

from pydantic import BeforeValidator, ConfigDict, Field, model_validator

from memgraph._validation import AllowedValues, ConfigMeta
from memgraph.categories import DEFAULT_CATEGORIES, Categories
from memgraph.fields import ChoiceLabels, FieldSpecMixin
from memgraph.models import CATEGORIES, DerivingModel, Fact
from memgraph.profile import ProfileSchema
from memgraph.sections import DEFAULT_SECTIONS, Sections

LANGUAGES = ChoiceLabels(auto="the language of the user's messages", en="English", zh="Chinese")

Episodes = Literal["user", "exchange", "off"]
"""Which messages are kept word for word: the user's, also the assistant's final answers, or none."""
Summaries = Literal["update", "upkeep"]
"""When the summaries are written: by each update that has news for one, or by the upkeep only."""
SUMMARIES = ChoiceLabels(update="by an update that has news for one", upkeep="by the upkeep only")

EPISODES = ChoiceLabels(user="the user's words", exchange="also the assistant's final answers", off="nothing")

Grounding = Literal["strict", "lenient", "off"]
"""What a new fact must rest on.

- strict: a quote of the user's own words, with the names and numbers of the fact.
- lenient: words of the user, without a quote.
- off: nothing; the model is trusted.
"""
GROUNDING = ChoiceLabels(strict="a quote of the user", lenient="words of the user", off="nothing")

Verify = Literal["auto", "off"]
"""Whether the model is asked once more whether the claims of an update follow, and which known facts they end."""
VERIFY = ChoiceLabels(auto="if something was added", off="never")

Review = Literal["never", "corrections", "always"]
"""When a person must approve a change before it is saved.

- never: no approval is needed.
- corrections: if a correction would be added, or a known fact removed, replaced or evicted.
- always: if anything would change.
"""

ReviewBy = Literal["pending", "interrupt"]
"""How a person is asked for it.

- pending: the change waits in the document, and the rest of the update is saved.
- interrupt: the run is interrupted to ask, which needs a checkpointer.
"""

AgingCategory = Literal["preference", "knowledge", "context", "behavior", "goal"]
"""The categories whose facts may become stale; a correction never does."""
STALE_DAYS: Mapping[AgingCategory, int] = MappingProxyType(
    {"preference": 730, "knowledge": 730, "context": 365, "behavior": 365, "goal": 180}
)


def _with_default_days(value: object) -> object:
    """Return the days of all categories: those that are not given have the default."""
    return {**STALE_DAYS, **cast("Mapping[str, object]", value)} if isinstance(value, Mapping) else value


StaleDays = Annotated[
    Mapping[AgingCategory, Annotated[int, Field(ge=1, le=36_500)]],
    BeforeValidator(_with_default_days),
    ChoiceLabels(**CATEGORIES),
    AllowedValues("days from 1 to 36,500 by category"),
]


RENAMED: Mapping[str, str] = MappingProxyType({"reconcile": "verify"})
"""Fields of earlier releases, and their names now."""


class Policy(FieldSpecMixin, DerivingModel, metaclass=ConfigMeta):
    """The limits of a memory update. Tokens are counted by tiktoken's cl100k_base."""

    model_config = ConfigDict(allow_inf_nan=False, use_attribute_docstrings=True)

    @model_validator(mode="before")
    @classmethod
    def _read_renamed(cls, values: object) -> object:
        if not isinstance(values, Mapping):
            return values
        given = dict(cast("Mapping[str, object]", values))
        for old in RENAMED.keys() & given:
            warnings.warn(f"{old} is read as {RENAMED[old]}; the old name goes with release 1.0", stacklevel=2)
            given.setdefault(RENAMED[old], given.pop(old))
        return given

    max_facts: Annotated[int, Field(ge=10, le=50_000)] = 2_000
    """Maximum number of learned facts; manual facts do not count."""
    max_past_facts: Annotated[int, Field(ge=0, le=50_000)] = 1_000
    """Maximum number of past facts: those that were superseded, removed, expired or evicted, the latest ones."""
    max_as_said: Annotated[int, Field(ge=0, le=50_000)] = 2_000
    """Maximum number of claims that are kept as the user said them, the latest ones; they do not count as facts."""
    fact_confidence_threshold: Annotated[float, Field(ge=0, le=1)] = 0.7
    """Minimum confidence of a learned fact; facts below it are rejected."""
    grounding: Annotated[Grounding, GROUNDING] = "strict"
    """What a new fact must rest on: a quote of the user's own words (`strict`), for models that do not quote only most
    of its words (`lenient`), or nothing (`off`)."""
    verify: Annotated[Verify, VERIFY] = "auto"
    """Whether the model is called once more to check what an update adds: whether it follows from the user's words, and
    which known facts it ends. At most once per pass (`auto`), or never (`off`)."""
    max_fact_chars: Annotated[int, Field(ge=100, le=2_000)] = 2_000
    """Maximum characters of a new fact."""
    max_summary_tokens: Annotated[int, Field(ge=50, le=4_000)] = 1_000
    """Maximum tokens of a new summary; a longer one is cut at the end of a sentence."""
    max_threads: Annotated[int, Field(ge=1, le=100_000)] = 1_000
    """Number of threads whose progress is stored, the most recent ones."""
    thread_mark_ids: Annotated[int, Field(ge=1, le=100)] = 32
    """Message ids stored for each thread, so that a deleted message does not make the thread count as new. The default
    has room for the turns of several writers, who may learn one thread out of order."""
    batch_tokens: Annotated[int, Field(ge=500, le=100_000)] = 3_000
    """Maximum tokens of new turns learned in one pass; the rest is learned in further passes."""
    max_calls: Annotated[int | None, Field(ge=2, le=10_000)] = 8
    """Maximum calls of the model for one message, in its order; the rest stays in the episodes only. null
    is no limit, as in an import of conversations and a rebuild."""
    context_turns: Annotated[int, Field(ge=0, le=10)] = 2
    """Number of earlier turns shown to the model as context for the new ones."""
    signal_turns: Annotated[int, Field(ge=1, le=100)] = 6
    """Number of latest turns searched for signals, such as a correction."""
    max_turn_chars: Annotated[int, Field(ge=100, le=100_000)] = 1_000
    """Maximum characters of a turn in the prompt. A longer one is shown in parts; as context, it is shortened."""
    prompt_facts_tokens: Annotated[int, Field(ge=200, le=20_000)] = 2_000
    """Maximum tokens of known facts in the prompt; if there are more, the most relevant and the newest are shown."""
    prompt_language: Annotated[Literal["auto", "en", "zh"], LANGUAGES] = "auto"
    """Language of the prompt; auto uses the language of the user's messages."""
    summaries: Annotated[Summaries, SUMMARIES] = "upkeep"
    """When the summaries are written: by an `update` that has news for one, or by the `upkeep` only, which makes the
    prompt and the answers of updates shorter."""
    categories: Categories = DEFAULT_CATEGORIES
    """The categories of facts. A category of your own has a `name`, a `description` for the model, and perhaps
    `stale_days`; a built-in one can be listed by its name alone. `context` and `correction` are always among them."""
    sections: Sections = DEFAULT_SECTIONS
    """The summaries that are kept up to date. One of your own has a `name`, an `instruction` for the model, and perhaps
    `max_tokens`; a built-in one can be listed by its name alone."""
    profile: ProfileSchema = None
    """A pydantic model that updates fill with what the user said: a class, or in a file its path, `module:Name`."""
    stale_days: StaleDays = Field(default_factory=lambda: dict(STALE_DAYS))
    """Days by category after which the upkeep asks whether a fact that was not repeated still holds; corrections and
    manual facts never become stale."""
    model_tries: Annotated[int, Field(ge=1, le=10)] = 4
    """Maximum attempts to call the model; only transient errors are retried."""
    model_timeout_seconds: Annotated[float, Field(ge=1, le=600)] = 60
    """Maximum seconds between two chunks of an answer, which is streamed. Before the first chunk the model reads the
    prompt: this time counts once for each started 2,000 bytes of it."""
    model_deadline_seconds: Annotated[float, Field(ge=1, le=7_200)] = 600
    """Maximum seconds of a whole answer."""
    retry_wait_seconds: Annotated[float, Field(ge=0, le=60)] = 1
    """Seconds before the first retry; doubled for each further one, with jitter."""
    episodes: Annotated[Episodes, EPISODES] = "user"
    """Which of the conversation's own words are kept, with their dates: the user's, those of the whole `exchange`, or
    none (`off`)."""
    max_episode_chars: Annotated[int, Field(ge=100, le=10_000)] = 1_000
    """Maximum characters of an episode; a longer message is kept in several."""
    max_episodes: Annotated[int, Field(ge=0, le=1_000_000)] = 10_000
    """Maximum number of episodes of a memory; the oldest are evicted."""
    episode_days: Annotated[int | None, Field(ge=1)] = None
    """Days after which an episode is evicted; default: never."""
    max_tool_writes: Annotated[int, Field(ge=0, le=100)] = 10
    """Maximum facts that an agent's tools add, change and delete in one turn of a conversation."""
    history_days: Annotated[int, Field(ge=1, le=36_500)] = 365
    """Days for which the history of a memory is kept, with what it takes to undo a change. Enforced at each save."""
    max_revisions: Annotated[int, Field(ge=0, le=1_000_000)] = 10_000
    """Number of revisions kept in the history of a memory, the latest ones; 0 keeps no history."""
    max_races: Annotated[int, Field(ge=1, le=1_000)] = 50
    """Maximum number of conflicts with other writers before an update fails."""

    @cached_property
    def category_names(self) -> tuple[str, ...]:
        """The names of the categories, in their order."""
        return tuple(category.name for category in self.categories)

    @cached_property
    def section_names(self) -> tuple[str, ...]:
        """The names of the summaries, as `MemoryDocument.section` takes them."""
        return tuple(section.section for section in self.sections)

    def summary_tokens(self, name: str) -> int:
        """Return the maximum tokens of the summary *name*."""
        sizes = {section.section: section.max_tokens for section in self.sections}
        return sizes.get(name) or self.max_summary_tokens

    def category_of(self, fact: Fact) -> str:
        """Return the category of *fact* as it is shown: "context" if it is neither configured nor built in."""
        return fact.category if fact.category in self.category_names else fact.effective_category

    def days_until_stale(self, fact: Fact) -> int | None:
        """Return the days after which the upkeep asks about *fact*; None if it never becomes stale."""
        name = self.category_of(fact)
        if name in CATEGORIES:
            return self.stale_days.get(cast("AgingCategory", name))
        return next((category.stale_days for category in self.categories if category.name == name), None)

    @cached_property
    def kept_words(self) -> str:
        """What is kept word for word, for how long, and how to change that, in one line for people."""
        if self.episodes == "off" or not self.max_episodes:
            return "no words of a conversation are kept, only facts and summaries"
        whose = "the user's own words" if self.episodes == "user" else "the user's own words and the final answers"
        time = f"for {self.episode_days:,} days" if self.episode_days else "without a time limit"
        return (
            f"{whose} are kept, {time}, at most {self.max_episodes:,} episodes per memory "
            "(episodes: off keeps none; episode_days and max_episodes limit them; memgraph forget deletes them)"
        )
