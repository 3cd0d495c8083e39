"""How well the words of others are found in messages, and whether the user's own are left alone.

    python benchmarks/provenance.py [--quick]   # the labelled messages, and conversations without any paste
    python benchmarks/provenance.py --show      # print the errors, too

The messages are in sets/provenance.en.tsv and sets/provenance.zh.tsv. LoCoMo and MemoryBank are read if they are there.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from common import Bound, Measurement, Row, at_least, at_most, sha256_of, table
from locomo import LOCOMO, read_conversations
from memory_bank import FILES, read_users
from sets.intervals import wilson
from sets.labels import HERE, LANGUAGES

from memgraph.analysis.provenance import find_spans

HELD, LEFT_ALONE = 0.95, 0.95
MOST_MARKED = 0.005
"""Share of the messages of conversations in which hardly anything is quoted."""
UNSEEN = "4"
OPENING, CLOSING = "⟦", "⟧"
PATHS = {language: HERE / f"provenance.{language}.tsv" for language in LANGUAGES}
NOTES = (
    (
        "Held: no word of another source counts as the user's. Left alone: no word of the user counts as another's."
        " Three batches of messages guided the patterns: of each, 92 %, 63 % and 78 % were held when it was first"
        " measured. The fourth was written afterwards, and nothing was changed for it."
    ),
    (
        "Words that a user adds below a pasted mail or page without a fence are not left alone, on purpose: the author"
        " of the page could have written them. Two such messages are in the set."
    ),
)


class Message(NamedTuple):
    """A labelled message."""

    batch: str
    kind: str
    text: str
    foreign: frozenset[int]
    """Positions of the letters and digits that are not the user's."""
    own: frozenset[int]
    language: str


def read_messages() -> list[Message]:
    """Read the labelled messages of all languages."""
    return [message for language, path in PATHS.items() for message in _read(path, language)]


def _read(path: Path, language: str) -> Iterator[Message]:
    for line in path.read_text("utf-8").splitlines():
        if not line.startswith("#"):
            batch, kind, marked = line.split("\t")
            yield _parse(batch, kind, marked.replace("\\n", "\n"), language)


def _parse(batch: str, kind: str, marked: str, language: str) -> Message:
    own, *rest = marked.split(OPENING)
    text, foreign = own, set[int]()
    for part in rest:
        inside, outside = part.split(CLOSING)
        foreign.update(range(len(text), len(text) + len(inside)))
        text += inside + outside
    words = {position for position, character in enumerate(text) if character.isalnum()}
    return Message(batch, kind, text, frozenset(words & foreign), frozenset(words - foreign), language)


class Found(NamedTuple):
    """A message, and what was missed and lost in it."""

    message: Message
    missed: str
    lost: str


def find(message: Message) -> Found:
    """Compare the spans of *message* with its labels."""
    marked = {position for span in find_spans(message.text) for position in range(span.start, span.end)}
    missed, lost = sorted(message.foreign - marked), sorted(message.own & marked)
    return Found(message, *("".join(message.text[position] for position in places) for places in (missed, lost)))


def _row(name: str, hits: Sequence[bool], bound: Bound | None = None) -> Row:
    low, high = wilson(sum(hits), len(hits))
    return Row(name, sum(hits) / len(hits), "share", low, high, bound, f"{len(hits)} messages")


def _rows(found: Sequence[Found]) -> Iterator[Row]:
    groups = {name: [each for each in found if each.message.language == key] for key, name in LANGUAGES.items()}
    groups["unseen"] = [each for each in found if each.message.batch == UNSEEN]
    for name, group in groups.items():
        held = [not each.missed for each in group if each.message.foreign]
        yield _row(f"words of others held, {name}", held, at_least(HELD))
        yield _row(f"own words left alone, {name}", [not each.lost for each in group], at_least(LEFT_ALONE))
    for kind in dict.fromkeys(each.message.kind for each in found if each.message.foreign):
        yield _row(f"held: {kind}", [not each.missed for each in found if each.message.kind == kind])


def conversations() -> dict[str, list[str]]:
    """Return the messages of the conversations outside the checkout that are there."""
    found = dict[str, list[str]]()
    if LOCOMO.exists():
        found["LoCoMo"] = [turn.text for each in read_conversations(LOCOMO) for turn in each.turns]
    for language, path in FILES.items():
        if path.exists():
            said = [message for user in read_users(path) for day in user.days for message in day.messages]
            texts = [str(message.content) for message in said if message.type == "human"]
            found[f"MemoryBank, {LANGUAGES[language]}"] = texts
    return found


def _marked_row(name: str, texts: Sequence[str]) -> Row:
    start = time.process_time()
    marked = sum(bool(find_spans(text)) for text in texts)
    spent = (time.process_time() - start) / len(texts) * 1_000_000
    note = f"{marked} of {len(texts):,}; {spent:.0f} µs CPU each"
    return Row(f"messages with a span, {name}", marked / len(texts), "share", bound=at_most(MOST_MARKED), note=note)


def measure(quick: bool) -> Measurement:  # noqa: FBT001 - the signature of every part
    found = [find(message) for message in read_messages()]
    rows = [*_rows(found), *([] if quick else [_marked_row(name, texts) for name, texts in conversations().items()])]
    data = {str(path.relative_to(HERE.parent)): sha256_of(path) for path in PATHS.values()}
    return Measurement("Provenance", rows, data=data, notes=NOTES)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="the labelled messages only")
    parser.add_argument("--show", action="store_true", help="print the errors")
    args = parser.parse_args()
    if args.show:
        for each in map(find, read_messages()):
            if each.missed or each.lost:
                print(f"{each.message.kind:9} {each.message.text!r} missed {each.missed!r} lost {each.lost!r}")
    print("", *table(measure(args.quick).rows), "", *NOTES, sep="\n")


if __name__ == "__main__":
    main()
