"""Pairs of facts of which one says all that the other says, found without comparing each with each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from memgraph.models import Fact

MOST_SHARING = 300
"""Facts that a pair is looked for among; a word that more of them share tells nothing."""


def covered(facts: Sequence[Fact], read: Callable[[Fact], frozenset[str]]) -> Iterator[tuple[Fact, Fact]]:
    """Yield each pair of which the second has all the terms of the first; equal ones once.

    A fact is looked for among those that have its rarest term, so that 10,000 take a second.

    Args:
        facts: Any.
        read: The terms of a fact; one without any is in no pair.
    """
    found = [(fact, read(fact)) for fact in facts]
    holders: defaultdict[str, list[int]] = defaultdict(list)
    for place, (_, words) in enumerate(found):
        for word in words:
            holders[word].append(place)
    for place, (fact, words) in enumerate(found):
        if not words:
            continue
        sharing = holders[min(words, key=lambda word: (len(holders[word]), word))]
        for other in sharing[:MOST_SHARING]:
            theirs = found[other][1]
            if other != place and words <= theirs and (words != theirs or place < other):
                yield fact, found[other][0]
