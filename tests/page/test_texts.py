"""The texts of the page: every language has the same ones, and every template finds what it names."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from string import Formatter
from typing import get_args

import pytest
from starlette.requests import Request

import memgraph.api.page
from memgraph.api.page.rendering import LANGUAGE_COOKIE, LANGUAGES, Language, page_language, texts
from memgraph.models.history import Author

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
