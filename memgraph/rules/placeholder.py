"""Placeholders: what a model writes if there is nothing to write."""

from __future__ import annotations

import re

_WORDS = re.compile(r"[^\W_]+")
_PHRASES = """
    none | n a | na | nil | null | nothing | empty | blank | tbd | unknown | unspecified | undefined
    nothing yet | none yet | nothing new | nothing so far | nothing to add | nothing to report | nothing to remember
    not applicable | not available | not specified | not mentioned | not provided | not known | no data
    no change | no changes | no update | no updates | no new information | no new facts | no information | no info
    no summary | no facts | no new fact | unchanged | no changes needed | no update needed | same as before
    无 | 暂无 | 没有 | 空 | 未知 | 无变化 | 没有变化 | 无更新 | 没有更新 | 无需更新 | 无新信息 | 没有新信息 | 暂无信息
    无内容 | 不适用 | 未提及 | 未提供 | 无可用信息 | 保持不变 | 不变 | 暂无更新 | 暂无内容 | 目前没有 | 尚无 | 还没有
    無 | 暫無 | 沒有 | 無變化 | 沒有變化 | 無更新 | 無需更新 | 無新資訊 | 沒有新資訊 | 不適用
"""
_PLACEHOLDERS = frozenset(phrase.strip() for line in _PHRASES.splitlines() for phrase in line.split("|")) - {""}
MAX_CHARS = 40
"""A longer text says something."""


def is_placeholder(text: str) -> bool:
    """Return whether *text* only says that there is nothing: "None", "(nothing yet)", "No change.", "暂无"."""
    return len(text) <= MAX_CHARS and " ".join(_WORDS.findall(text.casefold())) in _PLACEHOLDERS
