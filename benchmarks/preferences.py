"""Fifty preferences among 200 facts, and questions that share no word with them: each must be in the text."""

from __future__ import annotations

import random
from collections.abc import Iterator

from common import Row, at_least, share_row
from datasets import some_facts

from memgraph import Fact, MemoryDocument, RecallPipeline

_PREFERENCES = """
    Wants replies in German | How do I reset my router?
    Dislikes bullet lists | Could you outline the French Revolution?
    Prefers metric units | How tall is the Eiffel Tower?
    Never eats meat | Which dish would suit Friday evening?
    Writes code with tabs | Show me a loop over these files.
    Likes dark colour schemes | Set up my editor, please.
    Wants sources for every claim | Is coffee healthy?
    Prefers trains to planes | I have to be in Vienna on Monday.
    Uses a 24-hour clock | When does the museum open?
    Hates being called by surname | Draft a greeting for me.
    Prefers window seats | Book the flight, will you?
    Likes answers under five sentences | Explain photosynthesis.
    Avoids dairy | What could I bake on Sunday?
    Wants prices in euros | What does this laptop cost?
    Prefers paper books | Any idea for my holiday reading?
    Likes jazz while working | Put something on.
    Wants no emojis | Congratulate my colleague.
    Favours pytest over unittest | How should I check this function?
    Prefers Celsius | Will it be warm tomorrow?
    Likes quiet hotels | Where might we stay in Prague?
    Wants type hints everywhere | Write a small parser.
    Drinks tea only | Order me a beverage.
    Prefers evening appointments | Find a slot with the dentist.
    Dislikes phone calls | How do I reach the insurer?
    Likes mountain holidays | Plan our August.
    Wants British spelling | Proofread this letter.
    Prefers PostgreSQL | Which database would you pick?
    Hates cilantro | Suggest a curry.
    Likes bullet journals | How can I organise my week?
    Prefers aisle-free cinemas | Get tickets for tonight.
    Wants dates day first | Put a header on the report.
    Avoids cloud services | Where do I store the backups?
    Likes dry humour | Tell me a story.
    Prefers cycling to driving | How do I get to the office?
    Wants formulas in LaTeX | Give me the variance.
    Dislikes horror films | What shall we watch?
    Likes spicy food | Which restaurant is good here?
    Prefers functional style | Refactor that class.
    Wants the summary first | Here is a long paper.
    Uses Firefox | The page looks broken.
    Prefers cash | How will I pay at the market?
    Likes early mornings | When should the run start?
    Wants formal address | Compose a note to the landlord.
    Avoids gluten | Breakfast ideas?
    Prefers Linux | My machine needs a new system.
    Likes watercolours | What gift fits my birthday?
    Dislikes crowds | Is the festival worth it?
    Wants SI prefixes spelled out | State the capacity.
    Prefers small groups | How many guests would be ideal?
    Likes short variable names | Name these two counters.
"""
OTHER_FACTS = 150
MUST_REACH = 0.95


def read_pairs() -> list[tuple[str, str]]:
    """Return each preference and a question to which it matters."""
    pairs = [line.strip().partition(" | ") for line in _PREFERENCES.strip().splitlines()]
    return [(preference, question) for preference, _, question in pairs]


def make_memory(pairs: list[tuple[str, str]]) -> MemoryDocument:
    """Return a memory of the preferences among other facts, in a random but reproducible order."""
    facts = [Fact(content=content, category="preference", confidence=0.9) for content, _ in pairs]
    others = [fact.model_copy(update={"category": "context"}) for fact in some_facts(OTHER_FACTS)]
    draw = random.Random(13)  # noqa: S311 - reproducible
    return MemoryDocument(facts=tuple(draw.sample([*facts, *others], len(facts) + len(others))))


def preference_rows() -> Iterator[Row]:
    """Yield how often the preference that matters is in the text, by default settings."""
    pairs, pipeline = read_pairs(), RecallPipeline()
    memory = make_memory(pairs)
    hits = [f"- {preference}\n" in pipeline(memory, [question]) for preference, question in pairs]
    name = f"{len(pairs)} preferences and {OTHER_FACTS} other facts: the one that matters is in the text"
    yield share_row(name, hits, at_least(MUST_REACH))
