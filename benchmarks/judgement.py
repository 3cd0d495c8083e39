"""Whether a claim that quotes the user's true words becomes a plain fact, is kept as it was said, or is refused.

    python benchmarks/judgement.py [--show]                # print the wrong ones, too
    python benchmarks/judgement.py --sets FOLDER           # other sets, of which it prints counts alone

No model takes part: the rules of an update decide, as if the model that checks were silent. Each line of a set is a
conversation, a quote of its last turn, a claim and a kind.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from common import Measurement, Row, at_least, at_most, sha256_of, table
from sets.intervals import hit_row

from memgraph.analysis.provenance import with_provenance
from memgraph.analysis.statement import Verdict
from memgraph.analysis.words import language_of
from memgraph.models import Addition, MemoryDocument, Turn
from memgraph.rules.ground import SaidWords

HERE = Path(__file__).parent / "sets"
SETS = {
    "false_claims": "false claims",
    "hedged": "flattened hedges",
    "true_claims": "true claims",
    "plain": "plain statements",
    "asked_false": "false claims of two writers",
    "asked_true": "true claims of two writers",
}
"""By the name of a file, with or without the prefix `judgement_`: what is in it."""
IS_FALSE = frozenset({"false_claims", "hedged", "asked_false"})
MOST_PLAIN = {"false_claims": 0.1, "hedged": 0.15, "asked_false": 0.1}
LEAST_PLAIN, MOST_LOST = 0.3, 0.01
QUESTIONS = {"en": "Noted. Is there anything else that I should know?", "zh": "记下了。还有什么我该知道的吗？"}
QUICK = 4
NOTES = (
    (
        "False claims quote words that the user wrote and conclude what does not follow; flattened hedges drop a"
        " condition, a plan, a doubt or a time. True claims are of the same forms, plain statements are ordinary ones"
        " in other words. Lost: refused, neither plain nor as said. The sets were written before the net, by someone"
        " who did not know its rules, and the net was developed with them in sight. After a question: the assistant"
        " asked whether there is anything else, before the last turn. In the sets of two writers, who had read"
        " nothing of the package, the assistant asks before each last turn; the failures of the first were read."
    ),
)


class Case(NamedTuple):
    """A claim about the user, and what it quotes."""

    name: str
    kind: str
    turns: Sequence[Sequence[str]]
    quote: str
    claim: str

    def judge(self) -> Verdict:
        """Return what the rules of an update decide, without a check by a model."""
        roles: dict[str, Literal["human", "ai"]] = {"user": "human", "assistant": "ai"}
        turns = [
            with_provenance(Turn(id=str(number), role=roles[speaker], text=text))
            for number, (speaker, text) in enumerate(self.turns)
        ]
        claim = Addition(id="claim", content=self.claim, quote=self.quote)
        return SaidWords(turns, MemoryDocument()).judge(claim, "strict").outcome

    def asked(self) -> Case:
        """Return the same after a question of the assistant that has nothing to do with it."""
        *before, last = self.turns
        return self._replace(turns=[*before, ["assistant", QUESTIONS[language_of(last[1])]], last])

    def is_wrong(self, verdict: Verdict) -> bool:
        """Return whether a false claim is plain, or a true one lost."""
        return verdict == ("plain" if self.name in IS_FALSE else "refused")


def path_of(folder: Path, name: str) -> Path:
    """Return the file of a set in *folder*."""
    prefixed = folder / f"judgement_{name}.jsonl"
    return prefixed if prefixed.exists() else folder / f"{name}.jsonl"


def read_cases(folder: Path = HERE) -> Iterator[Case]:
    """Yield the cases of all sets in *folder*."""
    for name in SETS:
        path = path_of(folder, name)
        for line in path.read_text("utf-8").splitlines() if path.exists() else ():
            row = json.loads(line)
            yield Case(name, row["kind"], row["turns"], row["quote"], row["claim"])


def rows_of(judged: Sequence[tuple[Case, Verdict]], *, by_kind: bool = True) -> Iterator[Row]:
    """Yield the shares of each set, and of each kind in it, with their intervals."""
    for name, title in SETS.items():
        ours = [(case, verdict) for case, verdict in judged if case.name == name]
        if not ours:
            continue
        bound = at_most(MOST_PLAIN[name]) if name in IS_FALSE else at_least(LEAST_PLAIN)
        plain = hit_row(f"{title}: plain", [verdict == "plain" for _, verdict in ours], note=f"of {len(ours)}")
        yield Row(plain.name, plain.value, plain.unit, plain.low, plain.high, bound, plain.note)
        if not name.startswith("asked"):
            asked = hit_row(f"{title}, after a question: plain", [case.asked().judge() == "plain" for case, _ in ours])
            yield Row(asked.name, asked.value, asked.unit, asked.low, asked.high, bound)
        lost = hit_row(f"{title}: refused", [verdict == "refused" for _, verdict in ours])
        limit = None if name in IS_FALSE else at_most(MOST_LOST)
        yield Row(lost.name, lost.value, lost.unit, lost.low, lost.high, limit)
        for kind in dict.fromkeys(case.kind for case, _ in ours) if by_kind else ():
            hits = [verdict == "plain" for case, verdict in ours if case.kind == kind]
            yield hit_row(f"{title}, {kind}: plain", hits, note=f"of {len(hits)}")


def measure(quick: bool) -> Measurement:  # noqa: FBT001 - the signature of every part
    """Judge all cases; every fourth as a smoke test."""
    judged = [(case, case.judge()) for case in list(read_cases())[:: QUICK if quick else 1]]
    data = {path.name: sha256_of(path) for path in (path_of(HERE, name) for name in SETS)}
    return Measurement("Plain, as said, or refused", list(rows_of(judged)), data=data, notes=NOTES)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--show", action="store_true", help="print false claims that are plain, and true ones refused")
    parser.add_argument("--sets", type=Path, default=HERE, metavar="FOLDER", help="another folder with such sets")
    args = parser.parse_args()
    found = [(case, case.judge()) for case in read_cases(args.sets)]
    if args.show and args.sets == HERE:
        print(*(f"{verdict}: {case}" for case, verdict in found if case.is_wrong(verdict)), sep="\n")
    print(*table(list(rows_of(found))), sep="\n")
