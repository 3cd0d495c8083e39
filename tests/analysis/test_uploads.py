"""What says that a file was uploaded."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from cpu_time import growth
from hypothesis import given
from hypothesis import strategies as st

from memgraph.analysis.uploads import mentions_upload, without_uploads

ROWS = [
    line.split("\t")
    for line in (Path(__file__).parent / "uploads.tsv").read_text("utf-8").splitlines()
    if not line.startswith("#")
]


@pytest.mark.parametrize(("kind", "low", "high"), [("upload", 0.95, 1.0), ("work", 0.0, 0.02)])
def test_uploads_are_told_from_work_with_files(kind: str, low: float, high: float) -> None:
    """The file is gone next session; but who builds an upload service wants that remembered."""
    found = [mentions_upload(sentence) for name, sentence in ROWS if name == kind]

    assert len(found) > 150
    assert low <= sum(found) / len(found) <= high


@pytest.mark.parametrize(
    ("sentence", "is_upload"),
    [
        ("The user uploaded q3.pdf and asked for a chart.", True),
        ("用户上传了一份报告", True),
        ("Files are located in /mnt/user-data/uploads/q3.pdf", True),
        ("Builds a service that lets customers upload large files", False),
        ("正在开发文件上传功能", False),
    ],
)
def test_an_upload_is_an_event(sentence: str, *, is_upload: bool) -> None:
    assert mentions_upload(sentence) is is_upload


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Works at Acme. Uploaded report.v2.pdf. Likes tea.", "Works at Acme. Likes tea."),
        ("在上海工作。用户上传了report.v2.pdf。喜欢喝茶。", "在上海工作。喜欢喝茶。"),
        ("Likes tea. The user uploaded q3.pdf", "Likes tea."),
        ("Uploaded q3.pdf.", ""),
        ("Works at Acme. Tested the memory by uploading a test file. Likes tea.", "Works at Acme. Likes tea."),
        ("在上海工作。用户正在上传多份文档。喜欢喝茶。", "在上海工作。喜欢喝茶。"),
        ("Likes tea.\n<uploaded_files>\nq3.pdf\n</uploaded_files>\nWorks at Acme.", "Likes tea.\n\nWorks at Acme."),
        ("Dr. Smith of the U.S. office likes tea. User attached a CSV.", "Dr. Smith of the U.S. office likes tea."),
    ],
)
def test_a_summary_loses_the_sentence(text: str, left: str) -> None:
    """The rest of it is still true."""
    assert without_uploads(text) == left


@given(st.text(alphabet="abc. \n我。", max_size=60))
def test_a_text_without_uploads_stays_as_it_is(text: str) -> None:
    """To its last blank: what is not about uploads is none of our business."""
    assert without_uploads(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "the user uploaded a ",
        "the user is uploading ",
        "by uploading a ",
        "用户正在",
        "通过上传",
        "upload of ",
        "uploaded ",
        "用户",
        "已上传",
        "file ",
        " ",
        "-",
        "a.b-",
    ],
)
def test_hostile_text_is_read_in_time(text: str) -> None:
    """A summary comes from a model, and models loop."""
    assert growth(lambda length: partial(without_uploads, text * (length // len(text))), 200_000) is None
