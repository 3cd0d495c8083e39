"""Memory <-> bytes."""

from __future__ import annotations

import json

import pytest

from memgraph.errors import DamagedMemoryError
from memgraph.models import Fact, MemoryDocument
from memgraph.storage.document import decode, encode, serialize


def test_a_document_is_readable_json() -> None:
    text = encode(MemoryDocument(facts=(Fact(id="f1", content="喜欢茶", created_at="2026-06-11T16:47:59Z"),))).decode()

    assert text.startswith('{\n  "version": "1.0",\n  "revision": 0,\n  "lastUpdated": ""')
    assert '      "content": "喜欢茶",\n' in text
    assert text.endswith("}\n")


def test_known_keys_are_camel_case_and_unknown_ones_unchanged() -> None:
    data = json.loads(encode(MemoryDocument.model_validate({"my_key": 1})))

    assert {"lastUpdated", "my_key"} <= data.keys()
    assert data["user"].keys() == {"workContext", "personalContext", "topOfMind"}


@pytest.mark.parametrize("data", [b"{}", b'{"facts": null, "user": null}', b'\xef\xbb\xbf{"version": "1.0"}\r\n'])
def test_older_formats_are_decoded(data: bytes) -> None:
    """Windows editors write a byte order mark."""
    assert decode(data, "here") == MemoryDocument()


def test_escaped_unpaired_surrogates_are_decoded() -> None:
    """Python's json module writes them; pydantic's parser rejects them."""
    assert decode(rb'{"whole": "\ud83d\ude00", "half": "\ud83d"}', "here").model_extra == {
        "whole": "😀",
        "half": "\ufffd",
    }


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"{", b"[]", b"null", b'"text"', b"{'a': 1}", b'{"a": 1,}', b"<<<<<<< HEAD\n{}", b"\0" * 100),
        *(b"\xff\xfe{}", b'{"a": "\xff"}', b'{"revision": ' + b"9" * 5000 + b"}"),
        *(b'{"facts": 3}', b'{"facts": [7]}', b'{"user": []}', b'{"threads": {"t": 1}}'),
        *(b'{"a": ' + b"[" * 10**5, b'{"\\u0041": ' + b"[" * 10**5),
    ],
)
def test_damage_is_an_error_with_the_location(data: bytes) -> None:
    with pytest.raises(DamagedMemoryError, match=r"^here is not a memory document: .*left unchanged"):
        decode(data, "here")


def test_a_deletion_is_never_newer_than_the_document() -> None:
    """A mistyped revision would prevent every later save."""
    memory = decode(b'{"revision": 3, "forgotten": {"revision": 900, "at": ""}}', "here")

    assert memory.forgotten
    assert memory.forgotten.revision == 3


def test_the_error_never_quotes_the_document() -> None:
    """It is logged and sent to API clients."""
    with pytest.raises(DamagedMemoryError) as caught:
        decode(b'{"facts": ["fine", {"content": "fine"}, 31337], "user": "secret"}', "here")

    assert "secret" not in str(caught.value)
    assert "31337" not in str(caught.value)


def test_serializing_returns_the_memory_as_it_will_be_loaded() -> None:
    memory, data = serialize(MemoryDocument(facts=(Fact(id="f", content="\ud83d\ude00 \ude00"),)))

    assert memory.facts[0].content == "😀 \ufffd"
    assert decode(data, "here") == memory
