"""Sessions of browsers: who can open one, and what ends it."""

from __future__ import annotations

import hashlib
import re
import stat
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from api_tokens import ADA, ADMIN, BOB
from itsdangerous import URLSafeTimedSerializer
from starlette.testclient import TestClient

from memgraph import Settings, open_storage
from memgraph.api import create_app
from memgraph.api.app import MountedApp
from memgraph.api.page.session import CODE_SECONDS, COOKIE, SIGN_IN_COOKIE
from memgraph.api.services import SessionStore

HIDDEN = re.compile(r'name="(\w+)" type="hidden" value="([^"]+)"')


@contextmanager
def serving(folder: Path, **options: Any) -> Iterator[MountedApp]:
    """An app whose outbox is in *folder*, with tokens for the administrator and two users."""
    given = {"api_token": ADMIN, "api_tokens": {"ada": ADA, "bob": BOB}} | options
    settings = Settings(model_name="offline", **({"outbox": str(folder / "outbox.db")} | given))
    app = create_app(settings, storage=open_storage("memory:"))
    with TestClient(app):
        yield app


def browser_of(app: MountedApp, cookie: str = "") -> TestClient:
    cookies = {COOKIE: cookie} if cookie else {}
    return TestClient(app, base_url="http://testserver/memory", cookies=cookies, follow_redirects=False)


def sign_in(app: MountedApp, token: str) -> str:
    """Return the cookie of a new session."""
    browser = browser_of(app)
    hidden = dict(HIDDEN.findall(browser.get("/page/sign-in").text))
    return browser.post("/page/sign-in", data={"token": token, **hidden}).cookies[COOKIE]


def is_signed_in(app: MountedApp, cookie: str) -> bool:
    return browser_of(app, cookie).get("/page/recall").status_code == 200


def sign_out(app: MountedApp, cookie: str) -> None:
    browser = browser_of(app, cookie)
    csrf = re.findall(r'"X-CSRF-Token": "(\w+)"', browser.get("/").text)[0]
    assert browser.post("/page/sign-out", headers={"X-CSRF-Token": csrf}).status_code == 200


def test_a_cookie_cannot_be_made_from_the_tokens(tmp_path: Path) -> None:
    """Every user knows one, and the only user knows all."""
    known = b"".join(sorted(hashlib.sha256(token.encode()).digest() for token in (ADMIN, ADA, BOB)))
    key = hashlib.sha256(b"memgraph page" + known).digest()

    with serving(tmp_path) as app:
        for state in (None, "ada", ["0" * 32, hashlib.sha256(ADMIN.encode()).hexdigest()]):
            assert not is_signed_in(app, URLSafeTimedSerializer(key, salt=COOKIE).dumps(state))


def test_a_cookie_is_refused_after_the_sign_out(tmp_path: Path) -> None:
    """By every server of the outbox, also after a restart; another session of the user goes on."""
    with serving(tmp_path) as app, serving(tmp_path) as other:
        ended, kept = sign_in(app, ADA), sign_in(app, ADA)
        assert is_signed_in(other, ended)

        sign_out(app, ended)

        assert [is_signed_in(each, ended) for each in (app, other)] == [False, False]
        assert is_signed_in(other, kept)
    with serving(tmp_path) as app:
        assert (is_signed_in(app, ended), is_signed_in(app, kept)) == (False, True)


def test_what_has_ended_stays_ended_with_a_session_key_and_an_outbox_in_ram(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sign-out and the link that was used, after a restart: the key still signs their cookies."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    options: dict[str, Any] = {"session_key": "k" * 32, "outbox": "memory:"}
    with serving(tmp_path, **options) as app:
        ended, kept, code = sign_in(app, ADA), sign_in(app, ADA), app.sessions.issue_code() or ""
        assert app.sessions.sign_in_by_code(code)
        sign_out(app, ended)

    with serving(tmp_path, **options) as app:
        assert (is_signed_in(app, ended), is_signed_in(app, kept)) == (False, True)
        assert app.sessions.sign_in_by_code(code) is None


@pytest.mark.parametrize(
    "options", [{"api_tokens": {"bob": BOB}}, {"api_tokens": {"ada": "another-token-of-ada", "bob": BOB}}]
)
def test_a_session_ends_with_its_token(tmp_path: Path, options: dict[str, Any]) -> None:
    """A removed user and a changed token: the other users stay signed in."""
    with serving(tmp_path) as app:
        ada, bob = sign_in(app, ADA), sign_in(app, BOB)

    with serving(tmp_path, **options) as app:
        assert (is_signed_in(app, ada), is_signed_in(app, bob)) == (False, True)


def test_the_key_is_random_private_and_made_once(tmp_path: Path) -> None:
    """Also if several processes start at the same time."""
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(lambda _: SessionStore(tmp_path / "a.db").key, range(8)))

    assert len(keys) == 1
    assert SessionStore(tmp_path / "b.db").key not in keys
    assert stat.S_IMODE((tmp_path / "a.db.sessions" / "key").stat().st_mode) == 0o600


def test_a_key_that_others_can_read_is_made_private_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """With it they sign the cookies of every user."""
    file, key = tmp_path / "a.db.sessions" / "key", SessionStore(tmp_path / "a.db").key
    file.chmod(0o644)

    assert SessionStore(tmp_path / "a.db").key == key

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert str(file) in caplog.text


def test_servers_with_the_same_session_key_read_each_others_cookies(tmp_path: Path) -> None:
    """They may have nothing else in common."""
    with serving(tmp_path / "1", session_key="k" * 32) as app, serving(tmp_path / "2", session_key="k" * 32) as other:
        assert is_signed_in(other, sign_in(app, ADA))
    with serving(tmp_path / "3") as app, serving(tmp_path / "4") as other:
        assert not is_signed_in(other, sign_in(app, ADA))


def test_a_link_signs_in_once_and_only_by_a_click(tmp_path: Path) -> None:
    """Another site can open a link, and mail scanners do."""
    with serving(tmp_path) as app:
        code = app.sessions.issue_code()
        browser = browser_of(app)
        page = browser.get("/page/sign-in", params={"code": code})
        assert COOKIE not in browser.cookies

        answers = [browser.post("/page/sign-in", data=dict(HIDDEN.findall(page.text))) for _ in range(2)]

        assert is_signed_in(app, answers[0].cookies[COOKIE])
        again = browser_of(app).get("/page/sign-in", params={"code": code})
        fresh = browser_of(app, "")
        fresh.cookies.update(again.cookies)
        assert fresh.post("/page/sign-in", data=dict(HIDDEN.findall(again.text))).status_code == 401


def test_a_link_is_no_cookie_and_a_cookie_is_no_link(tmp_path: Path) -> None:
    with serving(tmp_path) as app:
        code, cookie = app.sessions.issue_code() or "", sign_in(app, ADA)
        assert not is_signed_in(app, code)
        assert app.sessions.sign_in_by_code(cookie) is None


def test_a_link_is_valid_for_a_quarter_of_an_hour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(tmp_path) as app:
        code = app.sessions.issue_code() or ""
        later = time.time() + CODE_SECONDS + 60
        monkeypatch.setattr("itsdangerous.timed.time", SimpleNamespace(time=lambda: later))
        assert app.sessions.sign_in_by_code(code) is None


@pytest.mark.parametrize("form", [{"token": ADA}, {"token": ADA, "csrf": "x"}])
def test_another_site_cannot_sign_a_browser_in(tmp_path: Path, form: dict[str, str]) -> None:
    """It would lead the browser's user into a memory that the owner of the token reads."""
    with serving(tmp_path) as app:
        shown = browser_of(app).get("/page/sign-in")
        for cookies in ({}, dict(shown.cookies)):
            browser = browser_of(app)
            browser.cookies.update(cookies)
            answer = browser.post("/page/sign-in", data=form)
            assert (answer.status_code, COOKIE in answer.cookies) == (403, False)
        own = dict(HIDDEN.findall(shown.text))  # the form of another browser
        browser = browser_of(app)
        browser.cookies.set(SIGN_IN_COOKIE, "of-this-browser")
        assert browser.post("/page/sign-in", data={**form, **own}).status_code == 403


def test_a_token_in_a_link_is_ignored(tmp_path: Path) -> None:
    """Links are in histories and logs."""
    with serving(tmp_path) as app:
        answer = browser_of(app).get("/page/sign-in", params={"token": ADA})

    assert (answer.status_code, COOKIE in answer.cookies, ADA in answer.text) == (200, False, False)
