"""Two editors never overwrite each other; each sees what is stored now."""

from __future__ import annotations

import pytest
from api_tokens import Ask
from hypothesis import given
from hypothesis import strategies as st

from memgraph import Memory, MemoryStorage, Scope
from memgraph.api.preconditions import etag_of, matches_if_none_match, require_if_match
from memgraph.api.problems import ProblemError
from memgraph.editing import add_fact, update_memory

ADA = Scope("ada")
OVERWRITING = [
    ("PATCH", "facts/{tea}", {"content": "Likes coffee."}),
    ("DELETE", "facts/{tea}", None),
    ("PUT", "summaries/workContext", {"summary": "Pilot."}),
    ("POST", "import?mode=replace", {"facts": ["Likes coffee."]}),
    ("DELETE", "document", None),
]


@pytest.mark.parametrize("asked", OVERWRITING)
def test_the_second_of_two_editors_is_told(
    ask: Ask, storage: MemoryStorage, tea: str, asked: tuple[str, str, object]
) -> None:
    """Both saw the same; the first saved; the second gets the ETag there is now, and changes nothing."""
    method, path, body = asked
    seen = ask("GET", "document", user_id="ada").headers["ETag"]
    ask("POST", "facts", json={"content": "Has a cat."}, user_id="ada")
    before = storage.load(ADA)

    answer = ask(method, path.format(tea=tea), if_match=seen, json=body, user_id="ada")

    assert (answer.status_code, answer.json()["error"]) == (412, "PreconditionFailed")
    assert storage.load(ADA) == before
    assert answer.headers["ETag"] == etag_of(before)


@pytest.mark.parametrize(("method", "path", "body"), OVERWRITING)
def test_who_overwrites_says_what_they_saw(ask: Ask, tea: str, method: str, path: str, body: object) -> None:
    answer = ask(method, path.format(tea=tea), json=body, user_id="ada")

    assert (answer.status_code, answer.json()["error"]) == (428, "PreconditionRequired")


@pytest.mark.parametrize(("method", "path", "body"), OVERWRITING)
def test_who_saw_the_latest_may_change_it(ask: Ask, tea: str, method: str, path: str, body: object) -> None:
    """And is told the ETag of what is stored from then on."""
    seen = ask("GET", "document", user_id="ada").headers["ETag"]

    answer = ask(method, path.format(tea=tea), if_match=f'"another", {seen}', json=body, user_id="ada")

    assert answer.status_code == 200
    assert answer.headers["ETag"] == ask("GET", "document", user_id="ada").headers["ETag"] != seen


def test_a_learned_revision_counts_as_an_editor(ask: Ask, storage: MemoryStorage, tea: str) -> None:
    """What an update learned meanwhile must not be lost either."""
    seen = ask("GET", f"facts/{tea}", user_id="ada").headers["ETag"]
    update_memory(storage, ADA, lambda memory: add_fact(memory, "Has a cat."))

    answer = ask("DELETE", f"facts/{tea}", if_match=seen, user_id="ada")

    assert answer.status_code == 412


def test_a_lost_race_is_judged_anew(
    ask: Ask, storage: MemoryStorage, tea: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the check and the save somebody else saves: the check must not count any more."""
    seen = ask("GET", "document", user_id="ada").headers["ETag"]
    load = storage.load

    def load_and_lose(scope: Scope) -> Memory:
        loaded = load(scope)
        monkeypatch.setattr(storage, "load", load)
        update_memory(storage, scope, lambda memory: add_fact(memory, "Has a cat."))
        return loaded

    monkeypatch.setattr(storage, "load", load_and_lose)
    answer = ask("DELETE", "document", if_match=seen, user_id="ada")

    assert answer.status_code == 412
    assert [fact.content for fact in storage.load(ADA).facts] == ["Likes tea.", "Has a cat."]


def test_adding_overwrites_nothing(ask: Ask, tea: str) -> None:
    answer = ask("POST", "facts", json={"content": "Has a cat."}, user_id="ada")

    assert answer.status_code == 201
    assert answer.headers["Location"].startswith("/memory/facts/fact_")
    assert answer.headers["ETag"] == ask("GET", "facts", user_id="ada").headers["ETag"]


def test_who_adds_may_still_ask_for_a_state(ask: Ask, tea: str) -> None:
    answer = ask("POST", "facts", json={"content": "Has a cat."}, if_match='"0-0"', user_id="ada")

    assert answer.status_code == 412


def test_what_is_known_is_not_sent_again(ask: Ask, tea: str) -> None:
    seen = ask("GET", "document", user_id="ada").headers["ETag"]

    answers = [ask("GET", path, user_id="ada", if_none_match=seen) for path in ("document", "facts", f"facts/{tea}")]

    assert [(answer.status_code, answer.text, answer.headers["ETag"]) for answer in answers] == [(304, "", seen)] * 3


def test_an_agent_that_reads_what_is_shared_sees_it_change(ask: Ask, tea: str) -> None:
    """It has no document of its own and stays at revision 0, so the revision alone would not tell."""
    before = ask("GET", "document", user_id="ada", agent_name="x")
    ask("POST", "facts", json={"content": "Has a cat."}, user_id="ada")

    after = ask("GET", "document", user_id="ada", agent_name="x")

    assert before.json()["revision"] == after.json()["revision"] == 0
    assert before.headers["ETag"] != after.headers["ETag"]


@given(st.text(st.characters(codec="latin-1")))
def test_any_if_match_is_read(header: str) -> None:
    """What names the memory passes, all else is refused, and nothing breaks."""
    memory = Memory(revision=3)
    named = etag_of(memory) in header.split(", ") or header.strip() == "*"
    try:
        require_if_match(header, lambda given: given)(memory)
        passed = True
    except ProblemError as refused:
        passed = refused.status != 412

    assert passed == named


@given(st.lists(st.sampled_from(['"1-a"', 'W/"2-b"', '""', "x", ","])), st.booleans())
def test_a_weak_tag_is_good_for_reading_alone(others: list[str], weak: bool) -> None:  # noqa: FBT001
    memory = Memory(revision=3)
    header = ", ".join([*others, f"W/{etag_of(memory)}" if weak else etag_of(memory)])

    assert matches_if_none_match(memory, header)
    if weak:
        with pytest.raises(ProblemError):
            require_if_match(header, lambda given: given)(memory)
