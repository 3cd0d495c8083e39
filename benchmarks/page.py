"""The page with a large memory, in a real browser: until the memory is shown, and until a search is answered.

python benchmarks/page.py [--quick]
"""

from __future__ import annotations

import random
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from common import Measurement, Skipped, at_most, median_row, run_standalone

from memgraph import Fact, MemoryDocument, Policy, Scope, Settings, open_storage
from memgraph.models import CATEGORIES, Episode

FACTS, EPISODES = 5_000, 10_000
TOKEN = "token-of-the-benchmark"  # noqa: S105 - of a server on loopback that ends with the benchmark
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync")

SEARCH = """word => new Promise(done => {
  const began = performance.now();
  new MutationObserver((_, observer) => {
    if (!document.querySelector(".facts mark")) return;
    observer.disconnect();
    done(performance.now() - began);
  }).observe(document.querySelector("#facts"), {childList: true, subtree: true});
  const search = document.querySelector("#filters input[type=search]");
  search.value = word;
  search.dispatchEvent(new Event("input", {bubbles: true}));
})"""
"""Types a word, and returns the milliseconds until its facts are on the page. The clock is the browser's."""


@contextmanager
def serving(facts: int, episodes: int) -> Iterator[str]:
    """Serve the page of a large memory in a file storage, and yield its URL."""
    import uvicorn

    from memgraph.api import create_app

    draw = random.Random(facts)  # noqa: S311
    words = [f"word{number}" for number in range(3_000)]
    with tempfile.TemporaryDirectory() as folder, open_storage(f"file:{folder}") as storage:
        scope = Scope("ada")
        storage.save(scope, MemoryDocument(facts=tuple(_fact(number, draw, words) for number in range(facts))))
        storage.append_episodes(scope, [_episode(number, draw, words) for number in range(episodes)], Policy())
        settings = Settings.model_validate({"model_name": "offline", "outbox": "memory:", "api_token": TOKEN})
        server = uvicorn.Server(uvicorn.Config(create_app(settings, storage=storage), log_level="error"))
        listener = socket.create_server(("127.0.0.1", 0))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/memory"
        finally:
            server.should_exit = True
            thread.join()
            listener.close()


def _fact(number: int, draw: random.Random, words: list[str]) -> Fact:
    day = f"2026-{1 + number % 9:02}-{1 + number % 28:02}"
    text = " ".join(draw.sample(words, 9))
    return Fact(id=f"f{number}", content=text, category=draw.choice(list(CATEGORIES)), created_at=f"{day}T00:00:00Z")


def _episode(number: int, draw: random.Random, words: list[str]) -> Episode:
    at = f"2026-{1 + number % 9:02}-{1 + number % 28:02}T10:00:00Z"
    text = " ".join(draw.sample(words, 15))
    return Episode(id=f"e{number}", thread_id=f"t{number % 50}", message_id=str(number), at=at, text=text)


def measure(quick: bool) -> Measurement:  # noqa: FBT001 - the signature of every part
    """Open the first view and search, again and again."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        raise Skipped("needs Chromium")
    from playwright.sync_api import sync_playwright

    rounds, share = (3, 20) if quick else (20, 1)
    views: list[float] = []
    searches: list[float] = []
    with serving(FACTS // share, EPISODES // share) as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        page = browser.new_page()
        page.goto(f"{url}/page/sign-in")
        page.fill("input[name=token]", TOKEN)
        page.click("button.primary")
        page.wait_for_url(f"{url}/")
        for number in range(rounds):
            began = time.perf_counter()
            page.goto(f"{url}/?user_id=ada")
            page.locator(".facts .content").first.wait_for()
            views.append(1_000 * (time.perf_counter() - began))
            page.locator(".episodes li").first.wait_for()  # a person begins to type when the page is there
            searches.append(page.evaluate(SEARCH, f"word{number + 10}"))
        browser.close()
    return Measurement(
        "The page with a large memory",
        (
            median_row("first view", views, "ms wall", at_most(1_000)),
            median_row("search, from the last key to the marked facts", searches, "ms wall", at_most(150)),
        ),
        notes=[f"{FACTS:,} facts and {EPISODES:,} episodes in a file storage, in Chromium on this machine."],
    )


if __name__ == "__main__":
    run_standalone(measure)
