"""Fills the reference pages from the code when the site is built, so that none of them can grow old.

A page has a marker such as `{{ settings }}`, on a line by itself, where the generated Markdown goes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from cli_page import render_commands
from http_page import render_routes
from licences_page import render_licences
from settings_page import render_settings

GENERATED: Mapping[str, Callable[[], Iterator[str]]] = {
    "{{ settings }}": render_settings,
    "{{ commands }}": render_commands,
    "{{ routes }}": render_routes,
    "{{ licences }}": render_licences,
}


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace the markers of a page; called by MkDocs."""
    for marker, render in GENERATED.items():
        if marker in markdown:
            markdown = markdown.replace(marker, "\n".join(render()))
    return markdown
