"""Shapes of text on which a careless pattern or loop takes quadratic time: long runs of one unit."""

from __future__ import annotations

UNITS = (
    *(" ", "\n", " \n", "\t", "\u3000", "\u200b", "-", "- ", "=", "*", "_", ".", ". ", "...", "?!", "\\", "/"),
    *(", ", ";", "|"),
    *("(", ")", "[", "]", "{", "}", "<", ">", "&", "&#", "'", '"', "`", "```", "```\n", "“", "「", "0", "1"),
    *("1 ", "1.", "1-", "4"),
    *("a", "A", "a ", "a-", "a.", "a'", "a@", "a:", "a/", "www.", "https://", "://a", "e\u0301\u0334"),
    *("\uff9e\u0334", "ß", "İ", "ﷺ"),
    *("👩\u200d👩\u200d👧 ", "👩\u200d", "😀", "我", "我们", "。", "，", "我 a", "用户", "上传了"),
    *("我喜欢", "不是", "的", "日本"),
    *("<memory>", "</memory>", "<memory", "<a", "<a>", "</a", "<!--", "&amp;", "<think>", "</think>", "<turn>"),
    "<uploaded_files>",
    *('{"a":', '{"newFacts":[', "[1,", '{"a": "', '\\"', "\\u", '{"name": ', "---\n", "# ", "\n- ", "1. "),
    *("1) ", "(1,"),
    *("the ", "I ", "i am ", "my ", "not ", "and ", "to ", "in ", "user ", "The user ", "uploaded a "),
    *("uploaded ", "no, ", "no. "),
    *("password: ", "password ", "key=", "sk-", "eyJ", "eyJa.", "-----BEGIN PRIVATE KEY-----", "data:a/a;"),
    *("ignore ", "system\n", "Mr. "),
    *("I like ", "I live in ", "I work at ", "prefers ", "instead of ", "2024-", "2024-01-01 ", "12:"),
    *("in 3 days ", "#", "~~~", "•"),
)  # fmt: skip
"""What a run repeats: blanks, punctuation, brackets, quotes, tags, JSON, marks, emoji, and words of the patterns."""


def runs(length: int) -> tuple[str, ...]:
    """Return one text for each unit. Neither its start nor its end is like its middle, so that a pattern comes back."""
    return tuple(f"x{unit * (length // len(unit))}x!\n" for unit in UNITS)
