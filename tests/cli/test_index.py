"""memgraph index builds and updates the index of a file memory."""

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
    """A folder with a configuration and documents, and an embedding server that encodes the text length."""
    from werkzeug import Request, Response  # installed with pytest-httpserver

    def embed(request: Request) -> Response:
        import json

        texts = request.get_json()["input"]
        data = [{"index": index, "embedding": [1.0, float(len(text))]} for index, text in enumerate(texts)]
        return Response(json.dumps({"data": data, "model": "tiny", "usage": {"prompt_tokens": 1, "total_tokens": 1}}))

    httpserver.expect_request("/v1/embeddings").respond_with_handler(embed)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "one.md").write_text("The first document.")
    (tmp_path / "docs" / "two.md").write_text("The second document, which is longer.")
    (tmp_path / "docs" / "photo.md").write_bytes(b"\0\1\2")
    (tmp_path / "memgraph.yaml").write_text(YAML % httpserver.url_for("/v1"))
    return tmp_path


def test_documents_are_indexed(handbook: Path, memgraph: Any) -> None:
    """The first query of an agent does not wait for the index."""
    result = memgraph("index", "handbook")

    assert result.code == 0, result.err
    assert "2 passages" in result.out
    assert "2 files indexed, 0 unchanged, 0 removed" in result.out
    assert "photo.md: it is not a text: it contains zero bytes" in result.out
    assert (handbook / "handbook.db").exists()


def test_a_second_run_indexes_only_new_files(handbook: Path, memgraph: Any) -> None:
    """For example as a nightly job."""
    memgraph("index", "handbook")
    (handbook / "docs" / "three.md").write_text("A third one.")

    report = memgraph("index", "handbook", "--json").json

    assert [Path(path).name for path in report["indexed"]] == ["three.md"]
    assert (report["unchanged"], report["embedded"], report["passages"]) == (2, 1, 3)


@pytest.mark.usefixtures("handbook")
@pytest.mark.parametrize(
    ("name", "message"),
    [("handbok", "handbook"), ("board", "memory 'board' is not of type file; memories of that type: handbook")],
)
def test_an_invalid_name_suggests_valid_ones(memgraph: Any, name: str, message: str) -> None:
    """A typo is easy to fix."""
    result = memgraph("index", name)

    assert result.code == 2
    assert message in result.err


def test_without_memories_the_error_names_the_configuration_key(memgraph: Any) -> None:
    """There is nothing to index."""
    result = memgraph("index", "handbook")

    assert result.code == 2
    assert "memories:" in result.err
