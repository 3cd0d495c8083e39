"""Optional: what a real chat model learns from MemoryBank's users, day by day, for reading by hand.

    python ../shared/tools/real_model.py &   # or any OpenAI-compatible server
    python benchmarks/real_model.py --url http://127.0.0.1:18183/v1 [--users Emily Frank] [--days 10] [--to FILE.json]
    python benchmarks/real_model.py --url http://127.0.0.1:18183/v1 --locomo 4   # sessions of LoCoMo instead

It is not part of `make bench`: a small model on a CPU takes hours. Each user's days are replayed in their order, with
their dates, one update at a time, by the default settings. Printed are the facts that each update stored, with their
dates and quotes, its tokens, how often the answer was unreadable, and what was refused. Whether a fact is true and
useful is for a person to judge; `--to` writes everything as JSON, with the conversation. In LoCoMo two people talk:
the first to speak is the user, the other has a name. Both data sets are read from outside the checkout.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from langchain_core.messages import HumanMessage
from locomo import LOCOMO, read_conversations
from memory_bank import FILES, Day, User, read_users

from memgraph import Context, Fact, MemgraphError, Policy, Report, Scope, build_graph, open_storage
from memgraph.models import Turn
from memgraph.prompts.json_text import StructuredOutput
from memgraph.update.graph import UpdateGraph

COPIED = "copied from the examples"


@dataclass(frozen=True)
class StoredFact:
    """A fact that an update added."""

    content: str
    category: str
    said_at: str
    valid_from: str
    valid_until: str
    quotes: tuple[str, ...]


@dataclass(frozen=True)
class DayOutcome:
    """The update with one day of a user."""

    user: str
    day: str
    conversation: tuple[str, ...]
    added: tuple[StoredFact, ...] = ()
    confirmed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    summaries: tuple[str, ...] = ()
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0
    error: str = ""

    @property
    def copied(self) -> int:
        return sum(COPIED in reason for reason in self.refused)

    @property
    def learned(self) -> bool:
        return bool(self.added or self.confirmed)


def locomo_user(sessions: int) -> User:
    """Return who speaks first in LoCoMo's first conversation, with its first *sessions*."""
    turns = read_conversations(LOCOMO)[0].turns
    name = turns[0].speaker
    days = [
        Day(at, tuple(_to_message(turn, name) for turn in session)) for at, session in groupby(turns, attrgetter("at"))
    ]
    return User(name, tuple(days[:sessions]))


def _to_message(turn: Turn, user: str) -> HumanMessage:
    other = None if turn.speaker == user else turn.speaker
    return HumanMessage(turn.text, id=turn.id, name=other, additional_kwargs={"timestamp": turn.at})


def replay(graph: UpdateGraph, user: User, days: Sequence[Day], context: Context) -> Iterator[DayOutcome]:
    """Yield the outcome of each day; an update that fails does not end the replay."""
    for day in days:
        lines = tuple(f"{message.type}: {message.text}" for message in day.messages)
        outcome = DayOutcome(user.name, day.date, lines)
        began = time.monotonic()
        try:
            state = graph.invoke(
                {"messages": list(day.messages)},
                context=context.model_copy(update={"user_id": user.name, "thread_id": f"{user.name}-{day.date}"}),
            )
            outcome = _with_report(outcome, state["report"])
        except MemgraphError as error:
            outcome = replace(outcome, error=str(error))
        yield replace(outcome, seconds=round(time.monotonic() - began, 1))


def _with_report(outcome: DayOutcome, report: Report) -> DayOutcome:
    return replace(
        outcome,
        added=tuple(map(_stored, report.added)),
        confirmed=tuple(fact.content for fact in report.confirmed),
        removed=tuple(f"{removed.fact.content} ({removed.why})" for removed in report.removed),
        refused=tuple(f"{refusal.item}: {refusal.reason}" for refusal in report.refused),
        summaries=tuple(f"{section.section}: {section.after}" for section in report.rewritten),
        calls=report.usage.calls,
        input_tokens=report.usage.input_tokens,
        output_tokens=report.usage.output_tokens,
    )


def _stored(fact: Fact) -> StoredFact:
    quotes = tuple(evidence.quote for evidence in fact.evidence)
    return StoredFact(fact.content, fact.category, fact.said_at, fact.valid_from, fact.valid_until, quotes)


def show(outcome: DayOutcome) -> str:
    """Return one day as text."""
    tokens = f"{outcome.input_tokens} tokens in, {outcome.output_tokens} out"
    lines = [f"{outcome.user} {outcome.day}: {outcome.calls} calls, {tokens}, {outcome.seconds:.0f} s"]
    for fact in outcome.added:
        dates = f" [{fact.valid_from or '?'}..{fact.valid_until}]" if fact.valid_from or fact.valid_until else ""
        lines.append(f"  + {fact.said_at[:10]} ({fact.category}){dates} {fact.content}  <- {' | '.join(fact.quotes)}")
    lines += [f"  = {content}" for content in outcome.confirmed]
    lines += [f"  - {content}" for content in outcome.removed]
    lines += [f"  ~ {summary}" for summary in outcome.summaries]
    lines += [f"  x {refusal}" for refusal in outcome.refused]
    lines += [f"  ! {outcome.error}"] if outcome.error else []
    return "\n".join(lines)


def total(outcomes: Sequence[DayOutcome]) -> str:
    """Return the sums over all days."""
    facts = [fact for outcome in outcomes for fact in outcome.added]
    figures = Counter(
        {
            "updates": len(outcomes),
            "updates that learned": sum(outcome.learned for outcome in outcomes),
            "updates that failed": sum(bool(outcome.error) for outcome in outcomes),
            "second calls after an unreadable answer": sum(max(0, outcome.calls - 1) for outcome in outcomes),
            "updates with copied examples": sum(outcome.copied > 0 for outcome in outcomes),
            "facts stored": len(facts),
            "facts with a quote": sum(bool(fact.quotes) for fact in facts),
            "facts with a date of their own": sum(bool(fact.valid_from) for fact in facts),
        }
    )
    return "\n".join(f"{name}: {count}" for name, count in figures.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", required=True, help="base URL of an OpenAI-compatible server")
    parser.add_argument("--model", default="local", help="name of its model")
    parser.add_argument("--language", choices=FILES, default="en")
    parser.add_argument("--users", nargs="+", default=["Emily", "Frank"])
    parser.add_argument("--days", type=int, default=10, help="of each user, the earliest first")
    parser.add_argument("--locomo", type=int, help="sessions of LoCoMo, instead of MemoryBank")
    parser.add_argument("--structured-output", default="auto", help="auto, none, json_schema or function_calling")
    parser.add_argument("--to", type=Path, help="JSON file for all outcomes; rewritten after each day")
    args = parser.parse_args()
    os.environ["OPENAI_BASE_URL"] = args.url
    os.environ.setdefault("OPENAI_API_KEY", "none")
    structured_output: StructuredOutput = args.structured_output
    context = Context(structured_output=structured_output)
    storage = open_storage("memory:")
    graph = build_graph(model=f"openai:{args.model}", storage=storage, policy=Policy())
    outcomes = list[DayOutcome]()
    users = (
        [locomo_user(args.locomo)]
        if args.locomo
        else [user for user in read_users(FILES[args.language]) if user.name in args.users]
    )
    for user in users:
        days = user.days if args.locomo else user.days[: args.days]
        for outcome in replay(graph, user, days, context):
            outcomes.append(outcome)
            print(show(outcome), flush=True)
            if args.to:
                args.to.write_text(json.dumps([asdict(each) for each in outcomes], ensure_ascii=False, indent=1))
        memory = storage.load(Scope(user.name))
        print(f"{user.name}: {len(memory.facts)} facts in the memory", flush=True)
    print(total(outcomes))


if __name__ == "__main__":
    main()
