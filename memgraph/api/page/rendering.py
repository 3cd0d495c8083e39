"""Rendering of the page: templates, texts in the reader's language, and filters that make hidden characters visible."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
from markupsafe import Markup, escape
from starlette.responses import HTMLResponse

from memgraph._yaml import load_yaml
from memgraph.analysis.hidden import show_hidden
from memgraph.models import UNKNOWN_THREAD
from memgraph.profile import render_value
from memgraph.sections import section_title

if TYPE_CHECKING:
    from fastapi import Request
    from jinja2.runtime import Context

_FOLDER = Path(__file__).parent
Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = ("en", "zh")
LANGUAGE = "lang"
"""The query parameter that chooses the language of the page, also of later visits."""
LANGUAGE_COOKIE = "memgraph_language"
LANGUAGE_SECONDS = 365 * 86_400
HEADERS = {
    "Cache-Control": "private, no-store",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "same-origin",
}
"""No inline script or style, no other host, and no frame of another site around the page."""


def page_language(request: Request) -> Language:
    """Return the language that the reader chose, else the one of the page's that the browser prefers, else English."""
    chosen = request.query_params.get(LANGUAGE) or request.cookies.get(LANGUAGE_COOKIE)
    if chosen in LANGUAGES:
        return chosen
    ranked: list[tuple[float, str]] = []
    for position, item in enumerate(request.headers.get("accept-language", "").split(",")[:20]):
        name, _, quality = item.strip().partition(";q=")
        ranked.append((_quality(quality) - position / 1_000, name.lower().partition("-")[0]))
    spoken = [name for _, name in sorted(ranked, reverse=True)]
    return min(LANGUAGES, key=lambda language: spoken.index(language) if language in spoken else len(spoken))


def _quality(text: str) -> float:
    try:
        return float(text) if text else 1.0
    except ValueError:
        return 0.0


@cache
def texts(language: Language) -> Mapping[str, str]:
    """Return the texts of the page by their key."""
    return load_yaml((_FOLDER / "texts" / f"{language}.yaml").read_text("utf-8"))


MAX_MESSAGE_CHARS = 500
"""A longer message is shown as it is."""


@cache
def _plain_messages(language: Language) -> Mapping[str, str]:
    """Return what memgraph reports by what the page shows for it."""
    return load_yaml((_FOLDER / "texts" / f"messages.{language}.yaml").read_text("utf-8"))


@cache
def _messages(language: Language) -> Sequence[tuple[re.Pattern[str], str]]:
    """Return patterns of what memgraph reports, each with what the page shows for it."""
    forms = _plain_messages(language)
    return [
        (re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+?)", re.escape(key)), re.DOTALL), forms[key]) for key in forms
    ]


def translate_message(text: str, language: Language) -> str:
    """Return an error or a reason in *language*; one that the page has no text for stays as it is.

    A `{reason}` in it is translated, too; what a user wrote is not.
    """
    if len(text) > MAX_MESSAGE_CHARS:
        return text
    for pattern, form in _messages(language):
        if found := pattern.fullmatch(text):
            parts = found.groupdict()
            if "reason" in parts:
                parts["reason"] = _plain_messages(language).get(parts["reason"], parts["reason"])
            return form.format(**parts)
    return text


def render_page(request: Request, template: str, values: Mapping[str, object], *, status: int = 200) -> HTMLResponse:
    """Return the page or fragment *template* with *values* in the language of *request*."""
    language = page_language(request)
    query = {name: value for name, value in request.query_params.items() if name != "token"}  # ignored, and secret
    links = {name: f"?{urlencode({**query, LANGUAGE: name})}" for name in LANGUAGES}
    values = {**values, "language": language, "language_links": links, "root": root_of(request)}
    page = _environment().get_template(template).render(values)
    headers = {**HEADERS, "Content-Language": language, "Vary": "Accept-Language, Cookie"}
    response = HTMLResponse(page, status, headers=headers)
    if request.query_params.get(LANGUAGE) == language:
        path, is_secure = root_of(request) or "/", request.url.scheme == "https"
        response.set_cookie(
            LANGUAGE_COOKIE, language, LANGUAGE_SECONDS, path=path, httponly=True, samesite="lax", secure=is_secure
        )
    return response


def root_of(request: Request) -> str:
    """Return the path that the page is mounted at."""
    return str(request.scope.get("root_path", ""))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    cast("dict[str, object]", environment.globals).update(
        t=_translate,
        category_title=_category_title,
        section_title=_section_title,
        render_value=render_value,
        unknown_thread=UNKNOWN_THREAD,
    )
    # Jinja escapes what `shown` returns
    cast("dict[str, object]", environment.filters).update(
        shown=show_hidden, message=_message, thread=_thread, marked=_marked, at=_at, day=_day
    )
    return environment


@pass_context
def _translate(context: Context, key: str, **values: object) -> str:
    """Return the text of *key* in the language of the page, with *values* in its braces.

    A text with a `|` has two forms, the first for a `count` of 1.
    """
    forms = texts(context["language"])[key].split("|")
    return forms[0 if values.get("count") == 1 else -1].format(**values)


@pass_context
def _message(context: Context, text: str) -> str:
    return show_hidden(translate_message(text, context["language"]))


@pass_context
def _thread(context: Context, name: str) -> str:
    """Return what the page calls a conversation: its name, if it has one."""
    return texts(context["language"])["thread.none"] if name == UNKNOWN_THREAD else show_hidden(name)


@pass_context
def _category_title(context: Context, name: str) -> str:
    """Return the title of a category; one of the user's own has its name."""
    return texts(context["language"]).get(f"category.{name}") or show_hidden(name)


@pass_context
def _section_title(context: Context, name: str) -> str:
    """Return the title of a summary; one of the user's own is named by its key."""
    return texts(context["language"]).get(f"section.{name}") or show_hidden(section_title(name))


def _marked(text: str, words: Sequence[str]) -> Markup:
    """Return *text* escaped, with each of *words* marked; the longest of those that begin at the same place."""
    found = sorted(map(re.escape, filter(None, words)), key=len, reverse=True)
    pieces = re.split(f"({'|'.join(found)})", show_hidden(text), flags=re.IGNORECASE) if found else [show_hidden(text)]
    mark = Markup("<mark>{}</mark>")
    # every second piece is a word
    return Markup("").join(mark.format(piece) if index % 2 else escape(piece) for index, piece in enumerate(pieces))


def _at(time: str) -> Markup:
    """Return a time as an element, which the script shows relative to now; without the script its day in UTC."""
    return Markup('<time datetime="{0}">{1}</time>').format(time, time[:10]) if time else Markup("")


def _day(time: str) -> Markup:
    """Return the day of a time, or a partial date, as an element that the script shows in the reader's words."""
    return Markup('<time datetime="{0}" data-day>{1}</time>').format(time, time[:10]) if time else Markup("")
