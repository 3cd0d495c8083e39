"""How well the offline model chooses what is worth remembering: labelled sentences, and newcomers' first sentences.

    python benchmarks/statements.py [--quick]             # ordinary people, first sentences
    python benchmarks/statements.py --left-out            # train without each source once, for an hour
    python benchmarks/statements.py --show                # print the errors, too
    python benchmarks/statements.py --thin-talk FILE      # print 100 kept sentences of a LoCoMo file, to judge by hand

The labelled sentences are in sets/statements.en.tsv and sets/statements.zh.tsv. The first sentences are in
sets/newcomers.yaml. Each is a conversation of one turn, with a memory of its own, that runs through the update graph;
the question is then asked of a memory that also has FILLERS.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml
from common import Measurement, Row, at_least, at_most, sha256_of, table
from langchain_core.embeddings import Embeddings
from langchain_core.messages import HumanMessage
from ordering import small_model
from pydantic import BaseModel, ConfigDict
from sets.intervals import wilson
from sets.labels import HERE, LANGUAGES, Label
from sets.statements import CHATS, ORDINARY, Labelled, path_of_statements, read_labelled, read_ordinary, read_training
from train_offline import Vectors, scores_of

from memgraph import Context, Fact, MemoryDocument, Scope, build_graph, open_storage, recall
from memgraph.llm.offline.extraction import Embed, find_in_turn
from memgraph.prompts.update_prompt import ShownTurn

RECALL = {"en": 0.60, "zh": 0.55}
PRECISION = {"en": 0.92, "zh": 0.90}
FOUND_AGAIN = 0.95
MOST_FALSE = 1
JUDGED = 100
SEED = 20_261_122
FILLERS = 40
"""Facts of other kinds in the memory of which the question is asked."""
BUDGET = 200
"""Tokens of the answer: not all of the memory fits."""
SOURCES = (
    *("MemoryBank", "LifeBench", "RealMem", "situations", "health", "people", "life", "body", "requests", "others"),
    *("passing", "mixed", "asides", "introductions", "needs", "days", "short", "whose", "plain", "recent", "wishes"),
    *("conditions", "replies"),
)
LEFT_OUT = {source: frozenset({source}) for source in SOURCES} | {
    "chats of one half of the writers": frozenset({"en a", "en b", "en c", "en d", "zh a", "zh b"}),
    "chats of the other half": frozenset({"en e", "en f", "en g", "en h", "zh c", "zh d"}),
}
"""Sources that are once left out of training together, by name. `own` is a fifth of all, too large for that."""
NEWCOMERS = HERE / "newcomers.yaml"
NOTES = (
    (
        "Kept: the offline model makes at least one fact of the sentence, said alone. Recall: the share of the"
        " sentences worth keeping that are kept. Precision: the share of the kept sentences that are worth keeping."
        " More than half of the sentences are small talk, tasks and moods. Left out of training (--left-out): a"
        " classifier is trained without any sentence of the source, its threshold included."
    ),
    (
        "Ordinary people: sentences of one writer who had read nothing of the package. They are not trained on,"
        " but were measured after each of about ten changes of the training."
    ),
    (
        "Chats: what some hundred people each type to an assistant over weeks, whole messages in their order, by twelve"
        " writers who had read nothing of the package, sentence by sentence."
    ),
    (
        "First sentences: written before the model had read them, and not trained on; the kinds of those it missed"
        " guided twice which sentences were written for training afterwards. Found again:"
        " a true fact is stored, and the answer to a"
        f" question about it, of {BUDGET} tokens from a memory of {FILLERS} more facts, has it."
    ),
    (
        "Own words are kept as they are, so a kept sentence says nothing that the user did not; what may be wrong is"
        " that it is not worth keeping, or a slot. False: matches no label of what is true."
    ),
)


# -- labelled sentences ---------------------------------------------------------------------------


def is_kept(text: str, embed: Embed | None = None) -> bool:
    """Return whether the offline model makes a fact of *text*, said alone."""
    return next(find_in_turn(ShownTurn("user", is_new=True, text=text), embed=embed), None) is not None


def left_out_rows(model: Embeddings | None) -> Iterator[Row]:
    """Yield recall and precision on the sentences of a source, by a classifier that is trained on the others."""
    everything, vectors = list(read_training()), Vectors() if model else None
    for left_out, sources in LEFT_OUT.items():
        others = [sentence for sentence in everything if sentence.source not in sources]
        for language in LANGUAGES:
            ours = [one for one in everything if one.source in sources and one.language == language]
            if not ours:
                continue
            scores, limit = scores_of(ours, others, vectors)
            kept, worth = scores >= limit, np.array([sentence.is_kept for sentence in ours])
            name = f"{left_out}, left out of training, {LANGUAGES[language]}{', with embeddings' if vectors else ''}"
            yield share_row(
                f"{name}: recall", int((kept & worth).sum()), int(worth.sum()), note=f"{len(ours)} sentences"
            )
            yield share_row(f"{name}: precision", int((kept & worth).sum()), int(kept.sum()))


def ordinary_rows(embed: Embed | None) -> Iterator[Row]:
    """Yield, of each group of ORDINARY, the share that is kept of what is worth keeping, and of what is not."""
    sentences = [*read_ordinary()]
    for group in dict.fromkeys(sentence.source for sentence in sentences):
        for is_worth, what in ((True, "kept"), (False, "not worth keeping, and kept")):
            ours = [one.text for one in sentences if (one.source, one.is_kept) == (group, is_worth)]
            if ours:
                name = f"ordinary people, {group}{', with embeddings' if embed else ''}: {what}"
                yield share_row(
                    name, sum(is_kept(text, embed) for text in ours), len(ours), note=f"{len(ours)} sentences"
                )


def embed_one(model: Embeddings, text: str) -> Sequence[float]:
    """Return the vector of *text*."""
    return model.embed_documents([text])[0]


def rows_of_language(language: str, sentences: Sequence[Labelled], embed: Embed | None = None) -> Iterator[Row]:
    """Yield recall and precision with Wilson's intervals, and the size of the set."""
    ours = [sentence for sentence in sentences if sentence.language == language]
    kept = [sentence for sentence in ours if is_kept(sentence.text, embed)]
    worth = [sentence for sentence in ours if sentence.is_kept]
    right = sum(sentence.is_kept for sentence in kept)
    name = f"ordinary people, {LANGUAGES[language]}{', with embeddings' if embed else ''}"
    note = f"{len(ours)} sentences, {len(worth)} worth keeping"
    yield share_row(f"{name}: recall", right, len(worth), RECALL[language], note)
    yield share_row(f"{name}: precision", right, len(kept), PRECISION[language], f"{len(kept)} kept")


def share_row(name: str, hits: int, of: int, least: float | None = None, note: str = "") -> Row:
    low, high = wilson(hits, of)
    return Row(name, hits / of if of else 0.0, "share", low, high, None if least is None else at_least(least), note)


def errors(sentences: Sequence[Labelled]) -> Iterator[str]:
    """Yield lines with the sentences that are kept wrongly, or missed."""
    for sentence in sentences:
        if is_kept(sentence.text) != sentence.is_kept:
            yield f"{'missed' if sentence.is_kept else 'kept  '} {sentence.label:10} {sentence.text}"


# -- first sentences ------------------------------------------------------------------------------


class First(BaseModel):
    """What a newcomer types, what must be learned from it, and a question that must find it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    say: str
    kept: tuple[str, ...]
    may: tuple[str, ...] = ()
    ask: str


class Outcome(NamedTuple):
    """What became of a first sentence."""

    first: First
    stored: tuple[str, ...]
    false: int
    is_found: bool


def first_sentences() -> Iterator[tuple[str, First]]:
    """Yield the first sentences with the kind of each: plain or request."""
    for group in yaml.safe_load(NEWCOMERS.read_text("utf-8")):
        yield from ((group["kind"], First.model_validate(item)) for item in group["sentences"])


def try_first(first: First, fillers: Sequence[Fact]) -> Outcome:
    """Learn from *first*, and ask for it."""
    scope, storage = Scope("newcomer"), open_storage("memory:")
    graph: Any = build_graph()
    context = Context(user_id=scope.user_id, thread_id="t1", storage=storage, model="offline")
    graph.invoke({"messages": [HumanMessage(first.say, id="m1")]}, context=context)
    stored = storage.load(scope).facts
    wanted, allowed = Label(any_of=first.kept), Label(any_of=(*first.kept, *first.may))
    memory = MemoryDocument(facts=(*stored, *fillers))
    found = recall(memory, [HumanMessage(first.ask)], max_tokens=BUDGET)
    return Outcome(
        first,
        tuple(fact.content for fact in stored),
        false=sum(not allowed.matches(fact.content) for fact in stored),
        is_found=any(wanted.matches(fact.content) and fact.content in found for fact in stored),
    )


def make_fillers(sentences: Sequence[Labelled]) -> list[Fact]:
    """Return facts of other users: labelled sentences, the same in each run."""
    drawn = random.Random(SEED).sample([each for each in sentences if each.is_kept], FILLERS)  # noqa: S311
    return [
        Fact(id=f"fact_{number:08x}", content=each.text, confidence=0.9, created_at="2026-01-05T09:00:00Z")
        for number, each in enumerate(drawn)
    ]


def rows_of_newcomers(outcomes: Sequence[tuple[str, Outcome]]) -> Iterator[Row]:
    for kind in ("plain", "request"):
        ours = [outcome for each, outcome in outcomes if each == kind]
        low, high = wilson(sum(outcome.is_found for outcome in ours), len(ours))
        yield Row(
            f"first sentences, {kind}: kept and found again",
            sum(o.is_found for o in ours) / len(ours),
            "share",
            low,
            high,
        )
    found = sum(outcome.is_found for _, outcome in outcomes)
    yield share_row("first sentences: kept and found again", found, len(outcomes), FOUND_AGAIN)
    false = sum(outcome.false for _, outcome in outcomes)
    yield Row(
        "first sentences: false facts", false, "facts", bound=at_most(MOST_FALSE), note=f"of {len(outcomes)} sentences"
    )


# -- running --------------------------------------------------------------------------------------


def measure(quick: bool) -> Measurement:  # noqa: FBT001 - the signature of every part
    """Measure what is kept of what ordinary people say, and of first sentences."""
    ordinary, fillers = [*read_ordinary()], make_fillers([*read_labelled()])
    firsts = list(first_sentences())[:: 10 if quick else 1]
    outcomes = [(kind, try_first(first, fillers)) for kind, first in firsts]
    models: list[Embeddings | None] = [None] if quick else [None, *filter(None, [small_model()])]
    embeds = [partial(embed_one, model) if model else None for model in models]
    rows = [row for embed in embeds for language in LANGUAGES for row in rows_of_language(language, ordinary, embed)]
    rows += [row for embed in embeds for row in ordinary_rows(embed)]
    rows += rows_of_newcomers(outcomes)
    files = [*map(path_of_statements, LANGUAGES), NEWCOMERS, ORDINARY, CHATS]
    data = {path.name: sha256_of(path) for path in files}
    return Measurement("What the offline model keeps", rows, [], data, NOTES)


def print_thin_talk(path: Path) -> None:
    """Print kept sentences of two friends' small talk, a sample that is the same in each run."""
    conversations = json.loads(path.read_text("utf-8"))
    turns = [
        turn["text"]
        for each in conversations
        for name, session in each["conversation"].items()
        if name.startswith("session_") and isinstance(session, list)
        for turn in session
    ]
    kept = [found.content for text in turns for found in find_in_turn(ShownTurn("user", is_new=True, text=text))]
    for content in random.Random(SEED).sample(kept, min(JUDGED, len(kept))):  # noqa: S311
        print(content)
    print(f"{len(kept)} kept of {len(turns)} turns")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a sample of the first sentences, as a smoke test")
    parser.add_argument("--show", action="store_true", help="print the errors")
    parser.add_argument(
        "--left-out", action="store_true", help="measure each source by a classifier trained without it"
    )
    parser.add_argument("--thin-talk", type=Path, metavar="FILE", help="a LoCoMo file, to sample kept sentences from")
    args = parser.parse_args()
    if args.thin_talk:
        print_thin_talk(args.thin_talk)
        return
    if args.left_out:
        for model in (None, *filter(None, [small_model()])):
            print("", *table([*left_out_rows(model)]), sep="\n")
        return
    if args.show:
        print(*errors([*read_ordinary()]), sep="\n")
        for kind, first in first_sentences():
            outcome = try_first(first, make_fillers([*read_labelled()]))
            if outcome.false or not outcome.is_found:
                print(f"{kind:8} {first.say} -> {outcome.stored}")
    print("", *table(measure(args.quick).rows), "", *NOTES, sep="\n")


if __name__ == "__main__":
    main()
