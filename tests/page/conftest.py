"""The page in a real browser: an app in this process, on loopback, and Chromium without a window."""

from __future__ import annotations

import shutil
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn
from playwright.sync_api import Browser, BrowserContext, expect, sync_playwright

sys.path.append(str(Path(__file__).parent))

from conftest_page import ADA_TOKEN, ADMIN, Site, Visit, Visitor, csrf_of  # importable since the line above

from memgraph import Settings, open_storage
from memgraph.api import create_app
from memgraph.categories import DEFAULT_CATEGORIES, Category
from memgraph.sections import DEFAULT_SECTIONS, SummarySection

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
INSTALL = "no Chromium is installed, so the page is NOT TESTED; as root, on Debian: sh tests/install_servers.sh"
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
TIMEOUT_MS = 60_000
"""For a busy machine; what a test waits for comes at once on a quiet one."""


@pytest.fixture
def review() -> str:
    """When the server asks for a decision; a test overrides it by `parametrize`."""
    return "never"


@pytest.fixture
def categories() -> tuple[Category, ...]:
    """The categories of facts; a test overrides them by `parametrize`."""
    return DEFAULT_CATEGORIES


@pytest.fixture
def sections() -> tuple[SummarySection, ...]:
    """The summaries; a test overrides them by `parametrize`."""
    return DEFAULT_SECTIONS


@pytest.fixture
def site(
    tmp_path: Path, review: str, categories: tuple[Category, ...], sections: tuple[SummarySection, ...]
) -> Iterator[Site]:
    """A server with an empty memory, on which nothing is learned unless a test does."""
    storage = open_storage("memory:")
    settings = Settings(
        model_name="offline",
        review=review,  # pyright: ignore[reportArgumentType]
        outbox="memory:",
        categories=categories,
        sections=sections,
        debounce_seconds=3_600,
        max_wait_seconds=3_600,
        api_token=ADMIN,  # pyright: ignore[reportArgumentType] - pydantic wraps it
        api_tokens={"ada": ADA_TOKEN},  # pyright: ignore[reportArgumentType]
        api_backups=str(tmp_path / "backups"),
    )
    app = create_app(settings, storage=storage)
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    yield Site(f"http://127.0.0.1:{listener.getsockname()[1]}/memory", storage, app.services)
    server.should_exit = True
    thread.join(60)
    listener.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium. It ends with the module: while it runs, no other test of the process could run an event loop."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(INSTALL)
    expect.set_options(timeout=TIMEOUT_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser: Browser, site: Site) -> Iterator[Visit]:
    """Opens a window that is signed in: by default the administrator's, with an English browser."""
    contexts: list[BrowserContext] = []
    visitors: list[Visitor] = []

    def visit(token: str = ADMIN, *, locale: str = "en-US", width: int = 1_400) -> Visitor:
        context = browser.new_context(
            locale=locale, viewport={"width": width, "height": 900}, timezone_id="Europe/Rome"
        )
        context.set_default_timeout(TIMEOUT_MS)
        contexts.append(context)
        visitor = Visitor(context.new_page(), site.url)
        visitors.append(visitor)
        visitor.page.on("console", lambda message: visitor.problems.append(message.text))
        visitor.page.on("pageerror", lambda error: visitor.problems.append(str(error)))
        visitor.page.on(
            "request",
            lambda request: (
                None
                if request.url.startswith(site.url.removesuffix("/memory"))
                else visitor.problems.append(request.url)
            ),
        )
        csrf = csrf_of(context.request.get(f"{site.url}/page/sign-in").text())
        context.request.post(f"{site.url}/page/sign-in", form={"token": token, "csrf": csrf})
        visitor.page.goto(f"{site.url}/")
        return visitor

    yield visit
    for context in contexts:
        context.close()
    assert [problem for visitor in visitors for problem in visitor.problems if "status of 4" not in problem] == []
