"""How an exchange is put into an item."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from memgraph.text.clean import clean
from memgraph.text.sentences import cut_at_sentence

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from memgraph.attachments.item import MemoryItem
    from memgraph.attachments.store import Exchange
    from memgraph.models import Scope

ANSWERED = "\n→ "
"""Between what a node was given and what it answered."""


def owner_of(scope: Scope | None, *, shared: bool) -> str:
    """Whose items are seen: the user's; nobody's in particular where there is no user, or all share."""
    return scope.user_id if scope and not shared else ""


def origin_of(exchange: Exchange) -> Mapping[str, JsonValue]:
    """Where an exchange was made, for an item's metadata."""
    agent = exchange.scope.agent_name if exchange.scope else None
    said = {"node": exchange.node, "thread_id": exchange.thread_id, "agent_name": agent}
    return {key: clean(value) for key, value in said.items() if value}


def source_of(item: MemoryItem) -> str:
    """Who wrote an item."""
    return str(item.metadata.get("node", ""))


def stamp(moment: datetime) -> str:
    """Return *moment* as ISO 8601 in UTC, to the microsecond: `2026-06-11T16:47:59.000120Z`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def summary_of(exchange: Exchange, limit: int) -> str:
    """Say in at most *limit* characters what was given and answered; where it is too long, half of it is the answer."""
    given, answer = exchange.input.text.strip(), exchange.output.text.strip()
    room = limit - len(ANSWERED)
    given = cut(given, max(room // 2, room - len(answer)))
    answer = cut(answer, room - len(given))
    return f"{given}{ANSWERED}{answer}" if given and answer else given or answer


def cut(text: str, limit: int) -> str:
    """Return the beginning of *text*, cut at a sentence end where it is longer than *limit* characters."""
    # looked for near the beginning only, so that a long text costs no more than a short one
    return cut_at_sentence(text.strip()[: limit + 1], limit, len)
