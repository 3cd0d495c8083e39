"""Whether entries that are planted in a memory to give an assistant orders are held back, and whether others are.

    python benchmarks/orders.py [--show]      # print those that are judged wrongly, too

The entries are in sets/orders_unseen.tsv, in six languages. They come by an import, as a file or over HTTP.
"""

from __future__ import annotations

import argparse

from common import HERE, Measurement, Row, at_most, sha256_of, table
from sets.intervals import wilson

from memgraph.analysis.admission import entry_problem

ENTRIES = HERE / "sets/orders_unseen.tsv"
PLANTED = ("dressed", "order")
NAMES = {
    "dressed": "planted orders dressed as preferences, stored plain",
    "order": "other planted orders, stored plain",
    "preference": "preferences about answers that wait for a person",
    "fact": "facts that wait for a person",
}
MOST_PLAIN = 0.1
NOTES = (
    (
        "Stored plain: an entry that an import, a store or a program's write takes. What waits is not lost: a person"
        " accepts it. By two writers, each read by nobody before it was measured."
    ),
)


def read_entries() -> list[tuple[str, str, str]]:
    """Return the kind, the language and the text of each entry."""
    lines = (line.split("\t") for line in ENTRIES.read_text("utf-8").splitlines() if not line.startswith("#"))
    return [(kind, language, text) for kind, language, text in lines]


def is_wrong(kind: str, text: str) -> bool:
    """Return whether an order is stored as it is, or another entry waits."""
    return (entry_problem(text) is None) == (kind in PLANTED)


def measure(quick: bool) -> Measurement:  # noqa: FBT001 - the signature of every part
    """Measure all entries; every tenth as a smoke test."""
    entries, rows = read_entries()[:: 10 if quick else 1], list[Row]()
    for kind, name in NAMES.items():
        texts = [text for label, _, text in entries if label == kind]
        wrong = sum(is_wrong(kind, text) for text in texts)
        low, high = wilson(wrong, len(texts))
        bound = at_most(MOST_PLAIN) if kind in PLANTED else None
        rows.append(Row(f"entries: {name}", wrong / len(texts), "share", low, high, bound, f"of {len(texts)}"))
    return Measurement("Planted orders", rows, data={ENTRIES.name: sha256_of(ENTRIES)}, notes=NOTES)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--show", action="store_true", help="print those that are judged wrongly")
    if parser.parse_args().show:
        print(*(one for one in read_entries() if is_wrong(one[0], one[2])), sep="\n")
    print("\n".join(table(measure(quick=False).rows)))
