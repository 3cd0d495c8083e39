"""Folder names are unique, stay below the base folder and decode to the user id."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memgraph.models import Scope
from memgraph.storage.paths import Layout, folder_name, is_shortened, user_id_of

BASE = Path("/base")
ids = st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=256)
near_ids = st.text("aA=4-16.é/~", min_size=1, max_size=6)


def document(user_id: str, agent_name: str | None = None) -> str:
    return Layout(BASE).document(Scope(user_id, agent_name)).as_posix()


@pytest.mark.parametrize(
    ("scope", "path"),
    [
        (Scope("ada"), "/base/users/ada/memory.json"),
        (Scope("ada", "Bot_1"), "/base/users/ada/agents/bot_1/memory.json"),
        (Scope("default"), "/base/memory.json"),
        (Scope("default", "bot"), "/base/agents/bot/memory.json"),
        (Scope("Default"), "/base/users/=44efault/memory.json"),
        (Scope("users"), "/base/users/users/memory.json"),
        (Scope(".."), "/base/users/=2e=2e/memory.json"),
        (Scope("ada@x.org"), "/base/users/ada=40x=2eorg/memory.json"),
    ],
)
def test_every_scope_has_its_path(scope: Scope, path: str) -> None:
    assert Layout(BASE).document(scope).as_posix() == path


def test_a_named_file_is_the_global_document_only() -> None:
    layout = Layout(BASE, "notes.json")

    names = [layout.document(scope).name for scope in (Scope("default"), Scope("default", "bot"), Scope("ada"))]

    assert names == ["notes.json", "memory.json", "memory.json"]


@given(ids)
def test_a_folder_name_is_portable_and_short(user_id: str) -> None:
    name = folder_name(user_id)

    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789_-=")
    assert len(name) <= 120


@given(ids | near_ids)
def test_a_folder_name_decodes_to_the_id(user_id: str) -> None:
    name = folder_name(user_id)

    assert is_shortened(name) or user_id_of(name) == user_id


@given(ids | near_ids, ids | near_ids)
@example("A", "a")
@example("A", "=41")
@example("a" * 121, "a" * 122)
@example("a" * 121, folder_name("a" * 121))
@example("é", "e\u0301")
def test_two_ids_never_share_a_folder(one: str, other: str) -> None:
    """Even on case-insensitive file systems, as on macOS and Windows."""
    assert (folder_name(one).lower() == folder_name(other).lower()) == (one == other)


@given(ids)
def test_no_id_leaves_the_base(user_id: str) -> None:
    path = Path(document(user_id))

    assert ".." not in path.parts
    assert path.parts[:3] in {("/", "base", "users"), ("/", "base", "memory.json")}


@pytest.mark.parametrize("name", ["Ada", "=4", "=zz", "=61", "=ff", "a.b", "", "=C3=A9"])
def test_a_folder_name_that_encodes_no_id_has_none(name: str) -> None:
    assert user_id_of(name) is None


def test_a_shortened_name_is_recognisable() -> None:
    """No other name contains `=-`, since `=` is always followed by two hex digits."""
    assert [is_shortened(folder_name("a" * length)) for length in (120, 121)] == [False, True]
