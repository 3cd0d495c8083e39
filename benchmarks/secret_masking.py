"""How many secrets are masked, and what is masked although it is none.

    python benchmarks/secret_masking.py [--quick]   # four secrets of each kind, and the turns of LoCoMo and MemoryBank
    python benchmarks/secret_masking.py --show      # print the secrets that are not masked and the false alarms, too

The secrets are drawn when the benchmark runs, with a fixed seed: none is in this repository. They and their sentences
are in sets/secret_sentences.py.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Iterator
from functools import cache

from common import Measurement, Row, Skipped, at_least, at_most, sha256_of, table
from locomo import LOCOMO
from memory_bank import FILES, read_users
from sets.intervals import wilson
from sets.secret_sentences import LOOKALIKES, DrawnSecret, draw_formats, draw_secrets

from memgraph.analysis.secrets import find_secrets, mask

MIN_MASKED = 0.98
MAX_ALARMS = 1
"""In 10,000 turns."""
MAX_LOOKALIKES = 4
QUICK_TURNS = 500
PIECE = 6
"""Characters of a secret that may not stay together."""
NOTES = (
    (
        "Secrets: four of each kind, two in English sentences and two in Chinese ones. One is masked if no six"
        " characters of it stay together, or all of a shorter one; of keys and card numbers the first four stay."
        " Each of 80 other formats has one more, in eight languages."
        " Two of the first run were missed, and corrected the patterns: the set is no held-out one."
    ),
    (
        "False alarms: turns of LoCoMo and MemoryBank, of both speakers, in which something is masked; their makers"
        " invented no secrets, and each alarm was looked at. The bound allows none in as few turns; the interval shows"
        " what they can tell."
    ),
)


def unmasked() -> Iterator[tuple[str, str]]:
    """Yield the kind and the sentence of each secret that `mask` leaves readable."""
    for drawn in (*draw_secrets(), *draw_formats()):
        if is_readable(drawn, mask(drawn.sentence)):
            yield drawn.kind, drawn.sentence


def is_readable(drawn: DrawnSecret, text: str) -> bool:
    """Return whether *text* has six characters of the secret in a row, or all of a shorter one; a key may show four."""
    secret, around = drawn.secret, drawn.sentence.replace(drawn.secret, " ")
    pieces = (secret[start : start + PIECE] for start in range(max(1, len(secret) - PIECE + 1)))
    return any(piece in text and piece not in around for piece in pieces)


@cache
def real_turns() -> tuple[str, ...]:
    """Return the turns of LoCoMo and MemoryBank.

    Raises:
        Skipped: If the data sets are not next to the checkout.
    """
    if not (LOCOMO.exists() and all(path.exists() for path in FILES.values())):
        raise Skipped("needs LoCoMo and MemoryBank in ../shared/data")
    conversations = json.loads(LOCOMO.read_text("utf-8"))
    values = itertools.chain.from_iterable(each["conversation"].values() for each in conversations)
    said = (turn["text"] for session in values if isinstance(session, list) for turn in session)
    users = itertools.chain.from_iterable(map(read_users, FILES.values()))
    return (*said, *(str(message.content) for user in users for day in user.days for message in day.messages))


def alarms(turns: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return the kind and the turn of each false alarm, one for each turn."""
    found = ((next(find_secrets(turn), None), turn) for turn in turns)
    return [(secret.kind, turn) for secret, turn in found if secret]


def masked_row(hits: int, count: int, kinds: int) -> Row:
    """Return the share of the secrets that are masked."""
    note = f"{count} secrets of {kinds} kinds"
    return Row("secrets masked", hits / count, "share", *wilson(hits, count), at_least(MIN_MASKED), note)


def alarm_row(hits: int, count: int) -> Row:
    """Return the false alarms in 10,000 turns."""
    low, high = (end * 10_000 for end in wilson(hits, count))
    note = f"{count:,} turns"
    return Row("false alarms", hits / count * 10_000, "in 10,000 turns", low, high, at_most(MAX_ALARMS), note)


def measure(quick: bool) -> Measurement:  # noqa: FBT001
    """Mask the drawn secrets, and look for secrets in real turns."""
    drawn, missed = (*draw_secrets(), *draw_formats()), list(unmasked())
    lookalikes = LOOKALIKES.read_text("utf-8").splitlines()
    masked = sum(mask(text) != text for text in lookalikes)
    turns = real_turns()[: QUICK_TURNS if quick else None]
    rows = [
        masked_row(len(drawn) - len(missed), len(drawn), len({each.kind for each in drawn})),
        Row("look-alikes masked", masked, f"of {len(lookalikes)}", bound=at_most(MAX_LOOKALIKES)),
        alarm_row(len(alarms(turns)), len(turns)),
    ]
    data = {path.name: sha256_of(path) for path in (LOCOMO, *FILES.values())}
    return Measurement("Secrets: masked, and false alarms", rows, data=data, notes=NOTES)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer turns, as a smoke test")
    parser.add_argument("--show", action="store_true", help="print what is not masked, and the false alarms")
    args = parser.parse_args()
    measured = measure(args.quick)
    print(f"{measured.title}\n", *table(measured.rows), "", *measured.notes, sep="\n")
    if args.show:
        for kind, text in (*unmasked(), *alarms(real_turns())):
            print(f"{kind}: {text}")


if __name__ == "__main__":
    main()
