"""Snapshots restore the original content blocks."""

from __future__ import annotations

import base64
import hashlib
import json
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage

from memgraph.analysis.secrets import mask
from memgraph.attachments.item import ESCAPE_KEY, PLACEHOLDER_KEY, MemoryItem, Snapshot, take_snapshot
from memgraph.models import timestamp

PNG = base64.b64encode(b"\x89PNG, so to speak").decode()
WAV = base64.b64encode(b"RIFF, so to speak").decode()

BLOCKS: dict[str, dict[str, Any]] = {
    "text": {"type": "text", "text": "Hello."},
    "text with annotations": {"type": "text", "text": "Hi.", "annotations": [{"type": "citation", "url": "https://x"}]},
    "reasoning": {"type": "reasoning", "reasoning": "Let me see."},
    "image, v1": {"type": "image", "base64": PNG, "mime_type": "image/png"},
    "image by url, v1": {"type": "image", "url": "https://example.org/a.png"},
    "image, v0": {"type": "image", "source_type": "base64", "data": PNG, "mime_type": "image/png"},
    "file by id, v0": {"type": "file", "source_type": "id", "id": "file-1"},
    "file as text, v0": {"type": "file", "source_type": "text", "text": "a,b", "mime_type": "text/csv"},
    "image_url, OpenAI": {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}", "detail": "low"}},
    "image_url as text, OpenAI": {"type": "image_url", "image_url": f"data:image/png;base64,{PNG}"},
    "input_audio, OpenAI": {"type": "input_audio", "input_audio": {"data": WAV, "format": "wav"}},
    "file, OpenAI": {"type": "file", "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PNG}"}},
    "file by id, OpenAI": {"type": "file", "file": {"file_id": "file-1"}},
    "image, Anthropic": {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
    "document, Anthropic": {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "word"}},
    "image, Bedrock": {"image": {"format": "png", "source": {"bytes": b"\x89PNG"}}},
    "media, Google": {"type": "media", "mime_type": "video/mp4", "file_uri": "gs://bucket/a.mp4"},
    "wrapped by LangChain": {"type": "non_standard", "value": {"type": "image", "data": PNG}},
    "unknown": {"type": "weird", "nested": [{"x": None, "y": [1, 2.5, True]}], "data": "word"},
    "looks like a placeholder": {"type": "weird", PLACEHOLDER_KEY: "0" * 64, "prefix": "x"},
    "looks like an escaped placeholder": {ESCAPE_KEY: {PLACEHOLDER_KEY: "0" * 64}},
    "base64 in lines": {"type": "image", "base64": f"{PNG[:8]}\n{PNG[8:]}", "mime_type": "image/png"},
    "base64 for URLs": {"type": "image", "base64": "-_-_", "mime_type": "image/png"},
    "not base64": {"type": "image", "base64": "what?", "mime_type": "image/png"},
    "empty data": {"type": "image", "base64": "", "mime_type": "image/png"},
    "half of a surrogate pair": {"type": "text", "text": "\ud83d"},
}


@pytest.mark.parametrize("block", BLOCKS.values(), ids=BLOCKS)
def test_a_block_is_restored(block: dict[str, Any]) -> None:
    """For the formats of all providers: remembered messages can be sent again."""
    snapshot = take_snapshot([block])

    assert snapshot.content() == [block]


@pytest.mark.parametrize("block", BLOCKS.values(), ids=BLOCKS)
def test_a_snapshot_survives_json(block: dict[str, Any]) -> None:
    """It is stored as JSON in ASCII, which can hold half of a surrogate pair."""
    stored = json.dumps(take_snapshot([block]).model_dump())

    assert Snapshot.model_validate(json.loads(stored)).content() == [block]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
DATA = st.binary(max_size=40).map(lambda data: base64.b64encode(data).decode()).filter(lambda data: mask(data) == data)
KEYS = st.sampled_from(
    ["type", "text", "data", "base64", "url", "source", "mime_type", "file", "id", PLACEHOLDER_KEY, ESCAPE_KEY]
)
ANY_BLOCK = st.dictionaries(
    KEYS,
    JSON | DATA | DATA.map(lambda data: f"data:image/png;base64,{data}") | st.binary(max_size=9)
    | st.sampled_from(["image", "file", "text", "non_standard", "base64", "id"])
    | st.dictionaries(KEYS, DATA | st.text(), max_size=3),
    min_size=1,
)  # fmt: skip


@given(st.lists(ANY_BLOCK, max_size=4))
def test_any_blocks_are_restored(blocks: list[dict[str, Any]]) -> None:
    """Providers add new formats."""
    snapshot = take_snapshot(blocks)  # pyright: ignore[reportArgumentType] - lists are invariant

    assert snapshot.content() == blocks
    assert Snapshot.model_validate(json.loads(json.dumps(snapshot.model_dump()))).content() == blocks


def test_an_attachment_has_metadata() -> None:
    """It can be described without reading the data."""
    attached = take_snapshot([BLOCKS["input_audio, OpenAI"]]).attachments[0]

    assert (attached.kind, attached.mime_type, attached.size) == ("audio", "audio/wav", 17)
    assert attached.sha256 == hashlib.sha256(base64.b64decode(WAV)).hexdigest()


@pytest.mark.parametrize(
    ("name", "kind", "reference"),
    [
        ("image by url, v1", "image", "https://example.org/a.png"),
        ("file by id, v0", "file", "file-1"),
        ("file by id, OpenAI", "file", "file-1"),
        ("media, Google", "video", "gs://bucket/a.mp4"),
    ],
)
def test_external_media_is_a_reference(name: str, kind: str, reference: str) -> None:
    """The block has a URL or an id instead of data."""
    attached = take_snapshot([BLOCKS[name]]).attachments[0]

    assert (attached.kind, attached.reference, attached.data) == (kind, reference, "")


def test_equal_data_is_stored_once() -> None:
    """An image quoted in every message would fill the disk."""
    snapshot = take_snapshot([BLOCKS["image, v1"], BLOCKS["image, Anthropic"], BLOCKS["image_url, OpenAI"]])

    assert [attached.data for attached in snapshot.attachments] == [PNG]
    assert PNG not in json.dumps([dict(block) for block in snapshot.blocks])


def test_a_text_becomes_a_text_block() -> None:
    """As in LangChain."""
    snapshot = take_snapshot(AIMessage("Hello."))

    assert snapshot.content() == AIMessage("Hello.").content_blocks == [{"type": "text", "text": "Hello."}]


def test_secrets_are_masked_in_the_text_and_in_the_blocks() -> None:
    """Both are stored."""
    snapshot = take_snapshot([{"type": "text", "text": "My wifi password is Sunshine42."}, BLOCKS["image, v1"]])

    assert "Sunshine42" not in snapshot.model_dump_json()
    assert snapshot.content()[0] == {"type": "text", "text": "My wifi password is ***."}
    assert snapshot.content()[1] == BLOCKS["image, v1"]


@pytest.mark.parametrize("nothing", ["", None, [], [""]])
def test_empty_content_is_an_empty_snapshot(nothing: Any) -> None:
    """An AI message that only calls tools has no content."""
    assert take_snapshot(nothing) == Snapshot()


def test_the_text_of_a_snapshot_has_no_data_in_it() -> None:
    """It is embedded, and shown in prompts."""
    message = HumanMessage(["What is this?", BLOCKS["image_url, OpenAI"], BLOCKS["file, OpenAI"]])

    assert take_snapshot(message).text == "What is this? [image] [file: a.pdf]"


def test_values_that_json_cannot_represent_are_converted() -> None:
    """A snapshot never fails: it is taken after the agent has answered."""
    snapshot = take_snapshot([{"type": "weird", 1: (1, 2), "when": PathLike()}])  # pyright: ignore[reportArgumentType]

    assert snapshot.content() == [{"type": "weird", "1": [1, 2], "when": "here"}]


class PathLike:
    def __str__(self) -> str:
        return "here"


def test_deep_nesting_is_cut() -> None:
    """A block that contains itself must not crash the process."""
    block: dict[str, Any] = {"type": "weird"}
    block["self"] = block

    assert "[nested too deep]" in json.dumps(take_snapshot([block]).content())


def test_an_item_is_a_value() -> None:
    """Items are immutable."""
    item = MemoryItem(id="item_1", content_summary="Tea.", timestamp="2026-06-11T16:47:59.000000Z")

    with pytest.raises(ValueError, match="frozen"):
        item.content_summary = "Coffee."  # pyright: ignore[reportAttributeAccessIssue]


def test_a_timestamp_is_in_utc_to_the_microsecond() -> None:
    """As texts, timestamps are in order."""
    moment = datetime(2026, 6, 11, 18, 47, 59, 120, tzinfo=timezone(timedelta(hours=2)))

    assert timestamp(moment, "microseconds") == "2026-06-11T16:47:59.000120Z"
