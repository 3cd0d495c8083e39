"""What the tests of the page share: the site, a visitor, and a conversation to learn from."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

import httpx
from axe_playwright_python.sync_playwright import Axe
from langchain_core.messages import HumanMessage
from playwright.sync_api import Page, expect

from memgraph import Context, MemoryStorage, Scope, build_graph
from memgraph.api.services import Services
from memgraph.editing import add_fact, update_memory
from memgraph.llm.offline import OfflineChatModel
from memgraph.models import Fact, PendingChange

ADMIN, ADA_TOKEN = "administrator-token", "token-of-ada-alone"
ADA = Scope("ada")


@dataclass
class Site:
    """A server of the page."""

    url: str
    storage: MemoryStorage
    services: Services


@dataclass
class Visitor:
    """A browser window, and what went wrong in it."""

    page: Page
    url: str
    problems: list[str] = field(default_factory=list[str])
    """Messages at the console, errors of scripts, and requests to other hosts."""

    def open(self, path: str = "/", user: str = "ada") -> Page:
        """Open a view for a user."""
        self.page.goto(f"{self.url}{path}?user_id={user}")
        return self.page


Visit = Callable[..., Visitor]
"""Opens a window that is signed in."""


def csrf_of(form: str) -> str:
    """Return the CSRF token of the sign-in form."""
    return re.findall(r'name="csrf" type="hidden" value="(\w+)"', form)[0]


def sign_in(browser: httpx.Client, token: str) -> httpx.Response:
    """Send the sign-in form as a browser does that was shown it."""
    data = {"token": token, "csrf": csrf_of(browser.get("/page/sign-in").text)}
    return browser.post("/page/sign-in", data=data)


def learn(site: Site, text: str, *, thread: str = "t1", at: str = "2026-05-01T10:00:00Z") -> None:
    """Learn from a message of Ada by the offline model."""
    message = HumanMessage(text, id=f"{thread}-{at}", additional_kwargs={"timestamp": at})
    context = Context(user_id="ada", thread_id=thread, storage=site.storage, model=OfflineChatModel())
    build_graph().invoke({"messages": [message]}, context=context)


def add(site: Site, *contents: str) -> list[str]:
    """Add manual facts of Ada, and return their ids."""
    for content in contents:
        update_memory(site.storage, ADA, lambda memory, content=content: add_fact(memory, content))
    return [fact.id for fact in site.storage.load(ADA).facts]


def say(page: Page, *messages: str) -> None:
    """Send messages to the agent, and wait for each reply."""
    for text in messages:
        page.get_by_label("Message").fill(text)
        page.get_by_role("button", name="Send").click()
        expect(page.locator("#talk .mine").last).to_contain_text(text)


def begin(page: Page) -> Page:
    """Begin to try an update."""
    page.get_by_label("Conversation").fill("User: I live in Lisbon.\nAssistant: Nice!")
    page.get_by_role("button", name="Begin").click()
    return page


def run_nodes(page: Page, *nodes: str) -> None:
    """Run the next nodes of an update, one by one."""
    for node in nodes:
        page.get_by_role("button", name=f"Run {node}").click()
        expect(page.locator(".graph .done").last).to_have_text(node)


def hold_change(site: Site) -> None:
    """Let a change of Ada's memory wait for a decision."""
    held = PendingChange(id="q1", at="2026-01-01T00:00:00Z", reason="an order", facts=(Fact(content="Likes tea."),))
    update_memory(site.storage, ADA, lambda memory: memory.model_copy(update={"pending": (held,)}))


def problems_on_a_phone(page: Page) -> list[str]:
    """Return what axe-core finds, light and dark, and whether the page scrolls sideways."""
    found = ["scrolls sideways"] if page.evaluate("document.documentElement.scrollWidth") > 360 else []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        found += [violation["id"] for violation in Axe().run(page).response["violations"]]
    return found
