"""Tagged blocks are cut out of a message."""

from __future__ import annotations

from functools import partial

import pytest
from cpu_time import growth

from memgraph.analysis.message import MEMORY, UPLOADS, without_blocks


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a<memory>b</memory>c", "ac"),
        ("a<memory>b<memory>c</memory>d</memory>e", "ae"),
        ("a</memory>b", "a</memory>b"),
        ("a <memory> b", "a <memory> b"),
        ("a\n <memory> \nb", "a\n "),
        ("<memoryx>b</memoryx>", "<memoryx>b</memoryx>"),
        ("1 < 2 <memory>b</memory>", "1 < 2 "),
    ],
)
def test_a_block_goes_with_what_is_in_it(text: str, left: str) -> None:
    """A tag that is only mentioned stays."""
    assert without_blocks(text, MEMORY) == left


@pytest.mark.parametrize(
    "text", ["<uploaded_files>", "<uploaded_files", "<", "<uploaded_files>\n", "</uploaded_files>"]
)
def test_hostile_tags_are_cut_in_time(text: str) -> None:
    """A message of a megabyte must not hold up the run."""
    assert growth(lambda length: partial(without_blocks, text * (length // len(text)), UPLOADS), 1_000_000) is None
