"""Where sentences end."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from functools import partial

import pytest
from cpu_time import growth
from hypothesis import given, settings
from hypothesis import strategies as st

from memgraph.analysis.sentences import cut_at_sentence, sentences, split_text
from memgraph.analysis.tokens import count_tokens

PROSE = st.text(alphabet="aB1 .!?\n。！？，我你\"'”)-/_:", max_size=80)


@pytest.mark.parametrize(
    "text",
    [
        "I use Vim. |I write Go! |Do you? |Yes",
        "我用 Vim。|我写 Go！|你呢？|是的",
        "我用 Vim。 |I write Go.",
        'He said "Go." |Then he left.',
        "他说：“走吧。”|然后走了。",
        "Really?! |Yes... |No",
        "- one\n|- two\n|three",
        "真的吗?|我不知道!|好",
        "I live in the U.S. |He does too.",
        "Bread, milk, etc. |They are cheap.",
        "So do I. |He does not.",
    ],
)
def test_a_sentence_ends_at(text: str) -> None:
    """English stops need a blank after them, Chinese ones do not."""
    assert sentences(text.replace("|", "")) == text.split("|")


@pytest.mark.parametrize(
    "text",
    [
        "Opened report.v2.pdf with Acrobat",
        "打开了report.v2.pdf并总结",
        "打开了报告.最终版.pdf并总结",
        "Uses Python 3.11 and v1.2.3 daily",
        "Asked Dr. Smith about e.g. cats vs. dogs",
        "Moved to the U.S. economy team under J. K. Rowling",
        "Reads https://x.org/a.b?c=d&e=f. often"[:-6],
        "1. Buy milk",
        "Lives at No. 5, on Fig. 3",
        "Well... maybe not",
        "Runs node.js in .venv",
    ],
)
def test_no_sentence_ends_in(text: str) -> None:
    """Cut there, half a file name or half a name would be left."""
    assert sentences(text) == [text]


@given(st.one_of(st.text(), PROSE))
def test_nothing_is_lost_between_sentences(text: str) -> None:
    """What is not dropped on purpose must stay as it was."""
    pieces = sentences(text)

    assert "".join(pieces) == text
    assert all(pieces)


@pytest.mark.parametrize(("unit", "end"), [(" ", ""), ("!", "a"), ("a.", ""), ("。", ""), ("\n", "a")])
def test_hostile_text_is_cut_in_time(unit: str, end: str) -> None:
    """A summary comes from a model, and models loop."""
    assert growth(lambda length: partial(sentences, unit * (length // len(unit)) + end), 200_000) is None


@pytest.mark.parametrize(
    ("text", "limit", "cut"),
    [
        ("One two. Three four.", 20, "One two. Three four."),
        ("One two. Three four.", 19, "One two."),
        ("One two. Three four.", 8, "One two."),
        ("One two. Three four.", 7, "One"),
        ("One two. Three four.", 2, "On"),
        ("One two. Three four.", 0, ""),
        ("One two. Three four.", -1, ""),
        ("我用 Vim。我写 Go。", 7, "我用 Vim。"),
        ("我喜欢编程。", 3, "我喜欢"),
        ("", 5, ""),
        ("  \n", 5, ""),
        ("  Padded. More.", 9, "  Padded."),
    ],
)
def test_a_text_is_cut_after_the_last_sentence_that_fits(text: str, limit: int, cut: str) -> None:
    """Half a sentence may say the opposite of the whole."""
    assert cut_at_sentence(text, limit, len) == cut


def test_splitting_does_not_copy_the_rest_of_the_text() -> None:
    """A copy for each piece would take quadratic time. Threads that other tests left may allocate, too, once."""
    text = "Goes on. " * 20_000

    def peak() -> int:
        tracemalloc.start()
        pieces = split_text(text, 1_000)
        highest = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert len(pieces) > len(text) / 1_000
        return highest

    assert min(peak() for _ in range(3)) < len(text) * 1.5


@pytest.mark.parametrize("measure", [len, count_tokens])
@settings(deadline=None)
@given(text=st.one_of(st.text(), PROSE), limit=st.integers(-1, 60))
def test_a_cut_text_never_exceeds_its_limit(measure: Callable[[str], int], text: str, limit: int) -> None:
    """The limit is a promise to whoever pays for the prompt."""
    cut = cut_at_sentence(text, limit, measure)

    assert text.startswith(cut)
    assert measure(cut) <= max(limit, 0)


def test_a_text_is_measured_a_few_times_only() -> None:
    """Counting tokens is the expensive part."""
    measured: list[int] = []

    cut_at_sentence("A sentence here. " * 10_000, 1_000, lambda text: measured.append(1) or len(text))

    assert len(measured) < 20
