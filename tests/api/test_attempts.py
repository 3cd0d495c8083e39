"""Wrong tokens are slowed down by address."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from api_tokens import ADA, BOB
from starlette.testclient import TestClient

from memgraph import MemoryStorage, Settings
from memgraph.api import Authenticator, auth, create_app
from memgraph.api.app import MountedApp
from memgraph.api.auth import FORGET_SECONDS, FREE_ATTEMPTS, MAX_WAIT_SECONDS, SignInAttempts

ATTACKER, OTHER = "203.0.113.7", "198.51.100.1"


class FakeClock:
    """A clock that stands still."""

    now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def app(settings: Settings, storage: MemoryStorage, clock: FakeClock) -> MountedApp:
    principals = Authenticator.from_settings(settings).principals
    return create_app(
        settings, authenticator=Authenticator(principals, attempts=SignInAttempts(clock)), storage=storage
    )


@pytest.fixture
def client(app: MountedApp) -> Iterator[TestClient]:
    with TestClient(app, client=(ATTACKER, 5)) as client:
        yield client


def send(client: TestClient, token: str) -> int:
    return client.get("/memory/status", headers={"Authorization": f"Bearer {token}"}).status_code


def fail(client: TestClient, times: int = FREE_ATTEMPTS) -> list[int]:
    return [send(client, f"wrong-token-number-{number}") for number in range(times)]


def test_wrong_tokens_wait_longer_and_longer(client: TestClient, clock: FakeClock) -> None:
    """So guessing takes years, whether a guess is right or not."""
    assert fail(client) == [401] * FREE_ATTEMPTS
    waits = []
    for _ in range(8):
        refused = client.get("/memory/status", headers={"Authorization": "Bearer one-more-wrong-token"})
        waits.append(int(refused.headers["Retry-After"]))
        assert (refused.status_code, send(client, BOB)) == (429, 429)
        clock.now += waits[-1]
        assert send(client, "another-wrong-token") == 401

    assert waits == [1, 2, 4, 8, 16, 32, MAX_WAIT_SECONDS, MAX_WAIT_SECONDS]


def test_the_sign_in_of_the_page_counts_too(client: TestClient) -> None:
    csrf = re.findall(r'name="csrf" type="hidden" value="(\w+)"', client.get("/memory/page/sign-in").text)[0]

    def sign_in(token: str) -> int:
        return client.post("/memory/page/sign-in", data={"token": token, "csrf": csrf}).status_code

    assert [sign_in("wrong") for _ in range(FREE_ATTEMPTS)] == [401] * FREE_ATTEMPTS
    assert sign_in(BOB) == 429
    assert send(client, BOB) == 429


def test_a_token_that_was_right_at_an_address_is_not_locked_out(client: TestClient) -> None:
    """All clients of a proxy may have one address."""
    assert send(client, ADA) == 200

    fail(client, 3 * FREE_ATTEMPTS)

    assert (send(client, ADA), send(client, BOB)) == (200, 429)


def test_other_addresses_are_not_affected(app: MountedApp, client: TestClient) -> None:
    fail(client, 3 * FREE_ATTEMPTS)

    assert send(TestClient(app, client=(OTHER, 5)), ADA) == 200


def test_requests_without_a_token_do_not_count(client: TestClient) -> None:
    for _ in range(3 * FREE_ATTEMPTS):
        assert client.get("/memory/status").status_code == 401

    assert send(client, BOB) == 200


def test_an_address_starts_afresh_after_a_while(client: TestClient, clock: FakeClock) -> None:
    fail(client, FREE_ATTEMPTS)

    clock.now += FORGET_SECONDS + 1

    assert fail(client) == [401] * FREE_ATTEMPTS


def test_an_ipv6_client_has_one_network(clock: FakeClock) -> None:
    """A client chooses freely among 2 ** 64 addresses."""
    table = SignInAttempts(clock)
    for number in range(FREE_ATTEMPTS):
        table.check(f"2001:db8::{number}", b"x", is_valid=False)

    assert table.check("2001:db8::ffff", b"x", is_valid=True) == 1
    assert table.check("2001:db8:1::1", b"x", is_valid=True) == 0


def test_the_tables_are_bounded_and_hold_no_text(clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client may send a header of its own as its address."""
    monkeypatch.setattr(auth, "MAX_ENTRIES", 3)
    table = SignInAttempts(clock)
    for number in range(20):
        table.check(f"10.0.0.{number}", b"x", is_valid=number % 2 == 0)
        table.check(f"text {number}", b"x", is_valid=False)

    assert len(table._failures) == len(table._known) == 3
    assert "text" not in repr(table)
