"""memgraph index."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

YAML = """
memories:
  - name: handbook
    type: file
    config:
      file_sources:
        - path: docs
      embedding: {provider: openai, model: tiny, base_url: "%s", api_key: none}
  - name: board
    type: blackboard
"""


@pytest.fixture
def handbook(tmp_path: Path, httpserver: Any) -> Path:
    """A folder with a configuration and two documents, and a server that embeds by length."""
    from werkzeug import Request, Response  # what the fixture's server is made of

    def embed(request: Request) -> Response:
        import json

        texts = request.get_json()["input"]
        data = [{"index": place, "embedding": [1.0, float(len(text))]} for place, text in enumerate(texts)]
        return Response(json.dumps({"data": data, "model": "tiny", "usage": {"prompt_tokens": 1, "total_tokens": 1}}))

    httpserver.expect_request("/v1/embeddings").respond_with_handler(embed)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "one.md").write_text("The first document.")
    (tmp_path / "docs" / "two.md").write_text("The second document, which is longer.")
    (tmp_path / "docs" / "photo.md").write_bytes(b"\0\1\2")
    (tmp_path / "memgraph.yaml").write_text(YAML % httpserver.url_for("/v1"))
    return tmp_path


def test_documents_are_read_ahead(handbook: Path, memgraph: Any) -> None:
    """The first agent that asks need not wait."""
    result = memgraph("index", "handbook")

    assert result.code == 0, result.err
    assert "2 passages" in result.out
    assert "2 files read, 0 unchanged, 0 gone" in result.out
    assert "photo.md: it is no text: there are zero bytes in it" in result.out
    assert (handbook / "handbook.db").exists()


def test_a_second_time_reads_what_is_new(handbook: Path, memgraph: Any) -> None:
    """As a nightly job would."""
    memgraph("index", "handbook")
    (handbook / "docs" / "three.md").write_text("A third one.")

    report = memgraph("index", "handbook", "--json").json

    assert [Path(path).name for path in report["indexed"]] == ["three.md"]
    assert (report["unchanged"], report["embedded"], report["passages"]) == (2, 1, 3)


@pytest.mark.usefixtures("handbook")
@pytest.mark.parametrize(
    ("name", "said"),
    [("handbok", "handbook"), ("board", "the memory 'board' has no index; of type file are: handbook")],
)
def test_a_name_that_cannot_be_indexed_is_an_error_that_helps(memgraph: Any, name: str, said: str) -> None:
    """Names are mistyped."""
    result = memgraph("index", name)

    assert result.code == 2
    assert said in result.err


def test_without_memories_it_says_where_to_name_them(memgraph: Any) -> None:
    """Nothing is there to index."""
    result = memgraph("index", "handbook")

    assert result.code == 2
    assert "memories:" in result.err
