"""How probable it is that what users say ends a known fact."""

from __future__ import annotations

import pytest

from memgraph.analysis.endings import BUCKETS, end_features, end_probability


def test_features_are_the_same_on_every_machine() -> None:
    """The weights are trained on one and read on all."""
    features = end_features("Keeps bees.", "We sold the bees.")

    assert features == sorted(set(features))
    assert max(features) < BUCKETS
    assert features[:3] == [148, 165, 322]


@pytest.mark.parametrize(
    ("known", "ending", "remark"),
    [
        ("Keeps bees.", "We sold the bees in spring.", "Bees are amazing, aren't they?"),
        ("Drives a Fiat.", "The Fiat finally died, I take the bus now.", "Is the Fiat 500 a good car?"),
        ("养了一只猫叫团子。", "团子上个月走了，家里空荡荡的。", "猫为什么喜欢纸箱？"),
    ],
)
def test_what_ends_a_fact_is_more_probable_than_a_remark(known: str, ending: str, remark: str) -> None:
    assert end_probability(known, ending) > end_probability(known, remark)
