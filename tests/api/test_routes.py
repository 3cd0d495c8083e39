"""What the routes do, as a client sees it."""

from __future__ import annotations

import json

import pytest
from api_tokens import ADA, Ask
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from memgraph import Fact, Memory, MemoryStorage, Scope, Settings
from memgraph.api import create_app
from memgraph.editing import add_fact, update_memory
from memgraph.storage import open_storage

ME = Scope("ada")
ODD_IDS = ["a/b", "..", ".", "%2F", "李雷", "a&b=c#d?e", " a ", "😀", "x" * 256]


@pytest.mark.parametrize("user_id", ODD_IDS)
def test_any_user_id_survives_the_way(ask: Ask, storage: MemoryStorage, user_id: str) -> None:
    """In a path `/` and `..` would be somebody else's."""
    ask("POST", "facts", json={"content": "Likes tea."}, user_id=user_id)

    assert list(storage.scopes()) == [Scope(user_id)]
    assert ask("GET", "facts", user_id=user_id).json()["total"] == 1


@given(user_id=st.text(max_size=300))
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_an_id_is_taken_as_it_is_or_refused(ask: Ask, user_id: str) -> None:
    answer = ask("GET", "document", user_id=user_id)

    assert answer.status_code in {200, 422}


@pytest.mark.parametrize("fact_id", ["a/b", "x y", "ü", "a?b", "a%b"])
def test_a_fact_of_any_id_can_be_reached(ask: Ask, storage: MemoryStorage, fact_id: str) -> None:
    """Ids of another form load as they are, so they have to be reached, too."""
    from urllib.parse import quote

    storage.save(ME, Memory(facts=(Fact(id=fact_id, content="Likes tea."),)))

    answer = ask("DELETE", f"facts/{quote(fact_id, safe='')}", if_match="*", user_id="ada")

    assert answer.json()["fact"]["id"] == fact_id
    assert storage.load(ME).facts == ()


def test_a_document_reads_as_it_is_stored(ask: Ask, storage: MemoryStorage) -> None:
    """Unknown keys and all."""
    stored = storage.save(ME, Memory.model_validate({"facts": [{"content": "喜欢茶", "mood": "good"}], "extra": 1}))

    answer = ask("GET", "export", user_id="ada")

    assert Memory.model_validate_json(answer.content) == stored
    assert (answer.json()["extra"], answer.json()["facts"][0]["mood"]) == (1, "good")
    assert "attachment" in answer.headers["Content-Disposition"]


def test_facts_come_in_pages(ask: Ask, storage: MemoryStorage) -> None:
    facts = tuple(Fact(id=f"f{n}", content=f"Fact {n}", category="goal" if n % 2 else "context") for n in range(7))
    storage.save(ME, Memory(facts=facts))

    first = ask("GET", "facts", user_id="ada", limit=2, category="goal").json()
    rest = ask("GET", "facts", user_id="ada", limit=2, category="goal", offset=first["next_offset"]).json()

    assert [fact["id"] for fact in (*first["facts"], *rest["facts"])] == ["f1", "f3", "f5"]
    assert (first["total"], rest["next_offset"]) == (3, None)


def test_what_is_written_is_a_persons(ask: Ask, tea: str) -> None:
    changed = ask("PATCH", f"facts/{tea}", if_match="*", json={"category": "preference"}, user_id="ada").json()

    assert (changed["fact"]["content"], changed["fact"]["category"]) == ("Likes tea.", "preference")
    assert changed["fact"]["source"] == "manual"


def test_a_fact_that_is_not_there_is_not_found(ask: Ask, tea: str) -> None:
    answer = ask("PATCH", f"facts/{tea[:-1]}", if_match="*", json={"content": "x"}, user_id="ada")

    assert answer.status_code == 404
    assert f"did you mean '{tea}'" in answer.json()["detail"]


def test_a_summary_is_written_and_removed(ask: Ask, storage: MemoryStorage) -> None:
    answer = ask("PUT", "summaries/topOfMind", if_match="*", json={"summary": " Moving to Lyon. "}, user_id="ada")
    assert answer.json()["section"]["summary"] == "Moving to Lyon."

    ask("PUT", "summaries/topOfMind", if_match="*", json={"summary": ""}, user_id="ada")

    assert storage.load(ME).section("top_of_mind").summary == ""


def test_a_long_summary_is_refused_not_cut(ask: Ask) -> None:
    answer = ask("PUT", "summaries/topOfMind", if_match="*", json={"summary": "word " * 1_500}, user_id="ada")

    assert answer.status_code == 422
    assert "at most 1,000 tokens" in answer.json()["detail"]


def test_recall_tells_what_fits_and_why(ask: Ask, tea: str) -> None:
    said = [{"role": "user", "content": "What do I drink?"}, "tea, I think"]

    answer = ask("POST", "recall", json={"messages": said}, user_id="ada").json()

    assert "Likes tea." in answer["text"]
    assert [entry["fact"]["id"] for entry in answer["facts"]] == [tea]
    assert 0 < answer["tokens"] <= 2_000


def test_where_memory_is_off_nothing_is_recalled_or_taken_in(settings: Settings, storage: MemoryStorage) -> None:
    """It says so, rather than to lose what was handed over."""
    update_memory(storage, ME, lambda memory: add_fact(memory, "Likes tea."))
    off = settings.model_copy(update={"enabled": False})
    with TestClient(create_app(off, storage=storage), headers={"Authorization": f"Bearer {ADA}"}) as client:
        recalled = client.post("/memory/recall", json={})
        submitted = client.post("/memory/conversations", json={"messages": [{"role": "user", "content": "Hi!"}]})

    assert recalled.json()["text"] == ""
    assert (submitted.status_code, submitted.json()["error"]) == (409, "MemoryOff")


def test_a_document_that_is_none_changes_nothing(ask: Ask, storage: MemoryStorage, tea: str) -> None:
    """It is read as a whole before anything is written: no half of it comes in, and no backup is made."""
    before = storage.load(ME)
    broken = b'{"facts": [{"content": "Good."}, 7]}'

    answers = [
        ask("POST", "import", content=data, if_match="*", mode="replace", user_id="ada")
        for data in (broken, b"{", b"[]", b"{}", b"\xff")
    ]

    assert [answer.status_code for answer in answers] == [422] * 5
    assert storage.load(ME) == before
    assert ask("GET", "backups", user_id="ada").json() == {"backups": []}


def test_what_an_import_replaced_can_be_put_back(ask: Ask, storage: MemoryStorage, tea: str) -> None:
    before = storage.load(ME)
    name = ask("POST", "import", json={"facts": ["Knows Go."]}, if_match="*", mode="replace", user_id="ada").json()[
        "backup"
    ]

    kept = ask("GET", f"backups/{name}", user_id="ada").content
    ask("POST", "import", content=kept, if_match="*", mode="replace", user_id="ada")

    assert storage.load(ME).facts == before.facts


def test_merging_keeps_what_is_there(ask: Ask, storage: MemoryStorage, tea: str) -> None:
    answer = ask("POST", "import", json={"facts": ["Knows Go.", "likes TEA."]}, user_id="ada").json()

    assert answer["counts"]["added"] == 1
    assert [fact.content for fact in storage.load(ME).facts] == ["Likes tea.", "Knows Go."]
    assert answer["backup"] is not None


def test_an_import_that_changes_nothing_needs_no_backup(ask: Ask, tea: str) -> None:
    assert ask("POST", "import", json={"facts": ["Likes tea."]}, user_id="ada").json()["backup"] is None


def test_backups_are_the_users_own_and_no_way_out(ask: Ask, tea: str) -> None:
    name = ask("POST", "import", json={"facts": ["Knows Go."]}, user_id="ada").json()["backup"]

    answers = [
        ask("GET", f"backups/{name}", user_id="bob"),
        ask("GET", f"backups/{name}", user_id="ada", agent_name="x"),
        ask("GET", "backups/..%2F..%2Fmemory.json", user_id="ada"),
        ask("GET", "backups/memory.json", user_id="ada"),
    ]

    assert [answer.status_code for answer in answers] == [404] * 4


def test_old_backups_go(ask: Ask) -> None:
    for number in range(24):
        ask("POST", "import", json={"facts": [f"Fact {number}"]}, user_id="ada")

    kept = ask("GET", "backups", user_id="ada").json()["backups"]

    assert len(kept) == 20
    assert [backup["name"] for backup in kept] == sorted((backup["name"] for backup in kept), reverse=True)


def test_what_is_cleared_is_gone_with_its_backups(ask: Ask, storage: MemoryStorage, tea: str) -> None:
    """Who asks to be forgotten does not want to be found in a backup."""
    ask("POST", "import", json={"facts": ["Knows Go."]}, user_id="ada")

    answer = ask("DELETE", "document", if_match="*", user_id="ada")

    assert answer.json()["revision"] == storage.load(ME).revision
    assert storage.load(ME).is_empty
    assert list(storage.scopes()) == []
    assert ask("GET", "backups", user_id="ada").json() == {"backups": []}


def test_a_damaged_document_is_named_to_those_who_can_repair_it(
    settings: Settings, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A place on the server is none of a user's business."""
    folder = tmp_path_factory.mktemp("memories")
    (folder / "users/ada").mkdir(parents=True)
    (folder / "users/ada/memory.json").write_text("{")
    app = create_app(settings, storage=open_storage(f"file:{folder}"))
    with TestClient(app) as client:
        told = client.get("/memory/document?user_id=ada", headers={"Authorization": "Bearer token-for-everybody"})
        untold = client.get("/memory/document", headers={"Authorization": f"Bearer {ADA}"})

    assert told.status_code == untold.status_code == 500
    assert str(folder) in told.json()["detail"]
    assert str(folder) not in untold.text


def test_the_document_of_a_server_around_it_keeps_its_names(settings: Settings) -> None:
    """LangGraph Server lets a mounted app's schemas take the place of its own where they are called the same."""
    app = create_app(settings)

    document = app.openapi()

    assert all(path.startswith("/memory/") for path in document["paths"])
    assert all(name.startswith("Memgraph") for name in document["components"]["schemas"])
    references = {part.split('"')[0] for part in json.dumps(document).split('"$ref": "#/components/schemas/')[1:]}
    assert references <= set(document["components"]["schemas"])
    assert app.user_middleware == []
    assert app.exception_handlers == {}
