"""Of whom a sentence is, and whether it names them."""

from __future__ import annotations

import pytest

from memgraph.analysis.subjects import lacks_referent


@pytest.mark.parametrize(
    "text",
    [
        "She sings in a choir.",
        "It's for the twins.",
        "That was my first bike.",
        "Wants to sail with him.",
        "Actually, they sold it.",
        "他在合唱团唱歌",
        "这是给双胞胎的",
    ],
)
def test_a_pronoun_for_what_was_named_before_lacks_its_referent(text: str) -> None:
    assert lacks_referent(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Sings in a choir.",
        "That bike is new.",
        "Aunt Rosa is 80, and she still sails.",
        "Works with Marek, who says that he sails.",
        "The landlord said that he sells it.",
        "Uses they/them.",
        "妹妹在合唱团，她唱女高音",
        "这几天很忙",
    ],
)
def test_a_text_that_names_what_it_is_about_lacks_nothing(text: str) -> None:
    assert not lacks_referent(text)
