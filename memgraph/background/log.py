"""One log line an update, with everything about it but what was said."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memgraph.background.execution import PausedForReview, UpdateResult
    from memgraph.background.outbox import Claim, ConversationKey

logger = logging.getLogger("memgraph.invoker")


def log_update(update: UpdateResult) -> None:
    """Say at INFO what became of a job. The record carries the same as `record.memgraph`, a mapping."""
    if not logger.isEnabledFor(logging.INFO):
        return
    usage = update.report.usage
    fields = {
        **_owner(update.key),
        "outcome": update.outcome,
        **update.report.counts,
        "calls": usage.calls,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "ms": _ms(update.seconds),
        "ms_by_node": {node: _ms(seconds) for node, seconds in update.node_seconds.items()},
    }
    logger.info("update %s", _written(fields), extra={"memgraph": fields})


def log_proposed(proposed: PausedForReview) -> None:
    """Say at INFO that a person has to agree, with `record.memgraph` as for an update."""
    usage = proposed.report.usage
    fields = {
        **_owner(proposed.key),
        "items": len(proposed.kept.proposal.items),
        "calls": usage.calls,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "ms": _ms(proposed.seconds),
    }
    logger.info("update held for review %s; `memgraph review` decides", _written(fields), extra={"memgraph": fields})


def log_failure(claim: Claim, error: BaseException, place: str) -> None:
    """Say at WARNING that a try failed, why, and what comes next."""
    fields = {**_owner(claim.key), "tries": claim.attempts + 1, "error": type(error).__name__}
    logger.warning("update failed %s: %s; %s", _written(fields), error, place, extra={"memgraph": fields})


def _owner(key: ConversationKey) -> dict[str, object]:
    return {"user": key.scope.user_id, "agent": key.scope.agent_name, "thread": key.thread_id}


def _ms(seconds: float) -> float:
    return round(seconds * 1_000, 1)


def _written(fields: Mapping[str, object]) -> str:
    return " ".join(f"{name}={value!r}" for name, value in fields.items())
