"""Who may see the page, and that nothing on it runs or leaves the host."""

from __future__ import annotations

import re

import httpx
import pytest
from conftest_page import ADA, ADA_TOKEN, ADMIN, Site, Visit, add, problems_on_a_phone, say, sign_in
from playwright.sync_api import expect

from memgraph.api.page.rendering import LANGUAGE_COOKIE
from memgraph.api.page.session import COOKIE
from memgraph.editing import update_memory
from memgraph.models import AsSaid, Evidence, Fact, MemoryDocument, PastFact, Section

HOSTILE = (
    *("<script>document.title='owned'</script>", "<img src=x onerror=\"document.title='owned'\">"),
    *("<svg onload=document.title='owned'>", "javascript:document.title='owned'", "{{ 7*7 }}", "{% raw %}x"),
    *(
        "<a href=\"javascript:document.title='owned'\">x</a>",
        "<iframe srcdoc='<script>parent.document.title=1</script>'>",
    ),
    *(
        "\" autofocus onfocus=\"document.title='owned'",
        "' onmouseover='document.title=1",
        "</textarea><script>1</script>",
    ),
    *("</title><script>1</script>", "<div hx-get='/memory/page/history' hx-trigger='load'>x</div>", "&lt;b&gt;"),
    *("<style>body{display:none}</style>", "<base href='http://evil.example/'>", "<form action='http://evil.example'>"),
    *("\u202eevil\u202c", "zero\u200bwidth", "<meta http-equiv=refresh content='0;url=http://evil.example'>"),
)
PATHS = ("/", "/page/recall", "/page/chat", "/page/waiting", "/page/try", "/page/history", "/page/health")


def test_a_wrong_token_is_refused_in_words(site: Site) -> None:
    with httpx.Client(base_url=site.url) as client:
        answer = sign_in(client, "wrong")

    assert answer.status_code == 401
    assert "not a valid token" in answer.text
    assert COOKIE not in answer.cookies


def test_the_cookie_cannot_be_read_by_scripts_or_sent_by_other_sites(site: Site) -> None:
    with httpx.Client(base_url=site.url) as client:
        answer = sign_in(client, ADMIN)

    flags = answer.headers["set-cookie"].lower()
    assert "httponly" in flags
    assert "samesite=strict" in flags
    assert ADMIN not in flags


@pytest.mark.parametrize("path", PATHS)
def test_a_browser_that_is_not_signed_in_is_asked_to(site: Site, path: str) -> None:
    answer = httpx.get(f"{site.url}{path}")

    assert (answer.status_code, answer.headers["location"]) == (303, "/memory/page/sign-in")


def test_a_forged_cookie_is_not_a_session(site: Site) -> None:
    answer = httpx.get(f"{site.url}/", headers={"Cookie": f"{COOKIE}=bnVsbA.aaaaaa.bbbbbbbbbbbbbbbbbbbbbbbbbbb"})

    assert answer.status_code == 303


def test_a_change_without_the_token_of_the_page_is_refused(site: Site) -> None:
    """Another site can make a browser send a form."""
    with httpx.Client(base_url=site.url) as client:
        sign_in(client, ADMIN)
        answer = client.post("/page/facts?user_id=ada", data={"content": "Likes tea."})

    assert answer.status_code == 403
    assert site.storage.load(ADA).facts == ()


def test_the_cookie_does_not_open_the_http_api(site: Site) -> None:
    with httpx.Client(base_url=site.url) as client:
        sign_in(client, ADMIN)
        assert client.get("/document?user_id=ada").status_code == 401


def test_a_user_sees_only_their_own_memory(site: Site, visit: Visit) -> None:
    add(site, "Likes tea.")
    page = visit(ADA_TOKEN).page
    expect(page.locator(".facts .content")).to_have_text(["Likes tea."])
    expect(page.get_by_label("User")).to_have_count(0)

    page.goto(f"{site.url}/?user_id=bob")

    expect(page.get_by_role("alert")).to_contain_text("ada")


@pytest.mark.parametrize(("user", "has_csrf"), [("bob", True), ("ada", False)])
def test_a_message_of_another_user_or_another_site_is_refused(site: Site, user: str, *, has_csrf: bool) -> None:
    """Nothing is learned from it."""
    message = {"thread": "chat-00000000", "message": "I live in Lisbon."}
    with httpx.Client(base_url=site.url) as client:
        sign_in(client, ADA_TOKEN)
        csrf = re.findall(r'"X-CSRF-Token": "(\w+)"', client.get("/page/chat").text)[0]
        headers = {"X-CSRF-Token": csrf} if has_csrf else {}
        answer = client.post(f"/page/chat?user_id={user}", data=message, headers=headers)

    assert answer.status_code == 403
    assert not list(site.storage.scopes())


def test_hostile_messages_are_text(visit: Visit) -> None:
    """In the chat, and in the facts next to it."""
    page = visit().open("/page/chat")

    say(page, *(f"Remember that {text}" for text in HOSTILE[:3]))

    assert "owned" not in page.title()
    assert page.locator("main script, main img, main svg").count() == 0


def test_hostile_facts_are_text(site: Site, visit: Visit) -> None:
    """On every view, and with hidden characters visible."""
    facts = tuple(Fact(id=f"f{number}", content=text, source=text[:100]) for number, text in enumerate(HOSTILE))
    update_memory(site.storage, ADA, lambda memory: memory.with_facts(facts))
    visitor = visit()
    for path in PATHS:
        page = visitor.open(path)
        expect(page).to_have_title(path and page.title())
        assert "owned" not in page.title()
        assert page.locator("main script, main iframe, main img, main style, main form[action^='http']").count() == 0

    page = visitor.open()
    assert page.locator(".facts .content").count() == len(HOSTILE)
    expect(page.locator(".facts")).to_contain_text(["<U+202E>evil"])


@pytest.mark.parametrize("path", [*PATHS, "/page/sign-in", "/page/history/99"])
def test_every_view_fits_a_phone_and_can_be_used_without_eyes(site: Site, visit: Visit, path: str) -> None:
    """360 pixels without scrolling sideways, and no finding of axe-core, light and dark; also of an error."""
    add(site, "Likes tea. " * 20)
    page = visit(width=360).open(path)

    assert problems_on_a_phone(page) == []


def test_an_unfolded_memory_can_be_used_without_eyes(site: Site, visit: Visit) -> None:
    """Every card, form and filter of a memory that has all kinds of them."""
    claim = AsSaid(id="c1", content="Is a US resident.", evidence=(Evidence(quote="Got my card!"),), reason="in doubt")
    old = PastFact(content="Lived in Rome.", ended_at="2026-04-02T10:00:00Z", reason="superseded")
    memory = MemoryDocument(facts=(Fact(content="Likes tea."),), as_said=(claim,), past=(old,))
    site.storage.save(ADA, memory.with_section("work_context", Section(summary="Builds bridges.")))
    page = visit(width=360).open()

    page.evaluate("document.querySelectorAll('details').forEach(it => { it.open = true; })")
    page.evaluate("document.querySelectorAll('.fact').forEach(it => it.scrollIntoView())")
    expect(page.locator(".fact dl").last).to_be_visible()

    assert problems_on_a_phone(page) == []


def test_a_conversation_fits_a_phone_and_can_be_used_without_eyes(visit: Visit) -> None:
    page = visit(width=360).open("/page/chat")
    say(page, "I live in Lisbon.", "Where do I live?", "x" * 200)
    expect(page.locator("#facts .content").first).to_be_visible()

    assert problems_on_a_phone(page) == []


# -- language ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [*PATHS, "/page/sign-in", "/page/history/99"])
def test_every_view_has_the_languages_to_choose_from(site: Site, path: str) -> None:
    with httpx.Client(base_url=site.url) as client:
        sign_in(client, ADMIN)
        shown = client.get(f"{path}?user_id=ada").text

    assert re.findall(r'href="([^"]+)" lang="zh"', shown) == ["?user_id=ada&amp;lang=zh"]


def test_the_chosen_language_stays(visit: Visit) -> None:
    """On the same view of the same user, and on others."""
    visitor = visit()
    page = visitor.open("/page/history", user="bob")

    page.get_by_role("link", name="中文").click()

    expect(page.get_by_role("heading", name="历史")).to_be_visible()
    expect(page.locator(".users [aria-current]")).to_have_text("bob")
    expect(visitor.open("/page/health").locator("html")).to_have_attribute("lang", "zh")
    page.get_by_role("link", name="English").click()
    expect(page.get_by_role("heading", name="Health")).to_be_visible()


def test_the_cookie_of_the_language_holds_only_a_language_that_exists(site: Site) -> None:
    chosen, unknown = (httpx.get(f"{site.url}/page/sign-in?lang={name}") for name in ("zh", "xx"))

    flags = next(it for it in chosen.headers.get_list("set-cookie") if it.startswith(f"{LANGUAGE_COOKIE}=zh;"))
    assert "samesite=lax" in flags.lower()
    assert LANGUAGE_COOKIE not in unknown.cookies


def test_a_chinese_browser_gets_chinese(site: Site, visit: Visit) -> None:
    add(site, "Likes tea.")
    page = visit(locale="zh-CN").open()

    expect(page.get_by_role("heading", name="关于 ada 的记忆")).to_be_visible()
    expect(page.locator("html")).to_have_attribute("lang", "zh")


@pytest.mark.parametrize("content", ["喜欢茶。", "茶" * 2_001, "茶\u202e", "  "])
def test_an_error_about_a_fact_is_in_the_language_of_the_page(site: Site, content: str) -> None:
    """And names no id."""
    add(site, "喜欢茶。")
    with httpx.Client(base_url=site.url, headers={"Accept-Language": "zh"}) as client:
        sign_in(client, ADMIN)
        csrf = re.findall(r'"X-CSRF-Token": "(\w+)"', client.get("/page/chat").text)[0]
        headers = {"X-CSRF-Token": csrf, "HX-Request": "true"}

        shown = client.post("/page/facts?user_id=ada", data={"content": content}, headers=headers)

    assert shown.status_code == 422
    text = re.sub(r"<[^>]*>", "", shown.text)
    assert re.findall(r"[A-Za-z]{4,}|fact_", text.replace("U+202E", "")) == []
