"""What the tests of the page share: the site, a visitor, and a conversation to learn from."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import httpx
from langchain_core.messages import HumanMessage
from playwright.sync_api import Page

from memgraph import Context, MemoryStorage, Scope, build_graph
from memgraph.api.services import Services
from memgraph.llm.offline import OfflineChatModel

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

    def check_request(self, url: str) -> None:
        """Note a request to another host."""
        if not url.startswith(self.url):
            self.problems.append(f"request to {url}")


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
