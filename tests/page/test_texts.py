"""The texts of the page: every language has the same ones, and every template finds what it names."""

from __future__ import annotations

import ast
import gzip
import re
from pathlib import Path
from string import Formatter
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request

import memgraph.api.page
from memgraph._yaml import load_yaml
from memgraph.analysis.admission import IS_INSTRUCTION, IS_ORDER
from memgraph.api.page.rendering import LANGUAGE_COOKIE, LANGUAGES, Language, page_language, texts, translate_message
from memgraph.errors import AlreadyDecidedError, MemoryOffError
from memgraph.models import REVIEW_ASKED
from memgraph.models.history import Author
from memgraph.rules.evict import FULL
from memgraph.rules.ground import PASSING_REMARK
from memgraph.rules.limit_damage import BY_TOOL
from memgraph.rules.pending import LEFT_OUT, LIST_FULL, REJECTED_BEFORE, TOO_LARGE, WAITS
from memgraph.rules.scrub import REASON

TEMPLATES = Path(memgraph.api.page.__file__).parent / "templates"
NAMED = re.compile(r'\bt\("([^"]+)"(?: ~)?')


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_the_same_texts_with_the_same_values(language: Language) -> None:
    assert {key: fields(text) for key, text in texts(language).items()} == {
        key: fields(text) for key, text in texts("en").items()
    }


def test_every_text_that_a_template_names_exists() -> None:
    named = {key for template in TEMPLATES.glob("*.html") for key in NAMED.findall(template.read_text("utf-8"))}

    missing = {key for key in named if not any(known == key or known.startswith(key) for known in texts("en"))}
    assert missing == set()


SOURCE = [*Path(memgraph.__file__).parent.rglob("*.py")]
PYDANTIC = ("{field}: ",)
"""How messages begin that pydantic writes."""


def messages(language: Language) -> dict[str, str]:
    return load_yaml((TEMPLATES.parent / "texts" / f"messages.{language}.yaml").read_text("utf-8"))


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_message_is_one_that_memgraph_writes(language: Language) -> None:
    """Else its text is never shown."""
    trees = (ast.parse(path.read_text("utf-8")) for path in SOURCE)
    written = {str(node.value) for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)}

    pieces = {
        piece
        for key in messages(language)
        if not key.startswith(PYDANTIC)
        for piece, *_ in Formatter().parse(key)
        if not any(piece.strip(": ") in text for text in written)
    }
    assert pieces == set()


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_message_shows_a_value_that_it_does_not_have(language: Language) -> None:
    assert {key: missing for key, text in messages(language).items() if (missing := fields(text) - fields(key))} == {}


@pytest.mark.parametrize(
    "reason",
    [
        *(BY_TOOL, REVIEW_ASKED, IS_ORDER, IS_INSTRUCTION, FULL, LIST_FULL, REJECTED_BEFORE, TOO_LARGE, LEFT_OUT),
        *(PASSING_REMARK, REASON, f"{WAITS}: {IS_ORDER}", "a person wrote otherwise: 住在罗马。"),
        *(str(AlreadyDecidedError("q1")), str(MemoryOffError())),
    ],
)
def test_a_reason_is_shown_in_chinese(reason: str) -> None:
    assert re.findall(r"[A-Za-z]{2,} [a-z]{2,}", translate_message(reason, "zh")) == []


@given(st.text(max_size=60))
def test_a_text_that_is_no_message_stays_as_it_is(text: str) -> None:
    assert translate_message(f"<{text}>", "zh") == f"<{text}>"


@pytest.mark.parametrize("author", get_args(Author))
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_history_names_every_author_of_a_revision(language: Language, author: str) -> None:
    """Also after a revert and a rebuild: a missing text is an error of the whole page."""
    assert f"by.{author}" in texts(language)


@pytest.mark.parametrize(
    ("header", "cookie", "expected"),
    [
        ("", "", "en"),
        ("zh-CN,zh;q=0.9,en;q=0.8", "", "zh"),
        ("en;q=0.8,zh;q=0.9", "", "zh"),
        ("fr,de;q=0.5", "", "en"),
        ("en,zh", "", "en"),
        ("en", f"{LANGUAGE_COOKIE}=zh", "zh"),
        ("zh", f"{LANGUAGE_COOKIE}=xx", "zh"),
    ],
)
def test_the_language_is_the_chosen_one_or_what_the_browser_prefers(header: str, cookie: str, expected: str) -> None:
    headers = [(b"accept-language", header.encode()), (b"cookie", cookie.encode())]
    request = Request({"type": "http", "query_string": b"", "headers": headers})

    assert page_language(request) == expected


def test_the_scripts_are_small() -> None:
    """Compressed, as a server sends them."""
    scripts = (TEMPLATES.parent / "static").glob("*.js")

    assert sum(len(gzip.compress(script.read_bytes())) for script in scripts) < 60_000


def test_no_template_has_a_script_or_a_style_of_its_own() -> None:
    """The content security policy would block it."""
    texts_of_templates = [template.read_text("utf-8") for template in TEMPLATES.glob("*.html")]

    assert not any(re.search(r"<script(?! src)|<style|\sstyle=|\son[a-z]+=", text) for text in texts_of_templates)
