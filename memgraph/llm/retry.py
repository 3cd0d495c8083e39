"""Which errors of a chat model are retried, and when."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar, cast

from tenacity import BaseRetrying, RetryCallState, retry_if_exception, stop_after_attempt

from memgraph.policy import Policy

TRANSIENT_STATUSES = frozenset({408, 409, 429})
_SERVER_ERROR = 500
_NOT_IMPLEMENTED = 501
MAX_WAIT_SECONDS = 600.0  # a provider with a Retry-After of more than ten minutes is down, not busy
# clients wrap transport errors in classes of their own, without a common base class
TRANSIENT_ERROR_NAMES = frozenset({"APIConnectionError", "APITimeoutError", "TransportError"})


Kind = TypeVar("Kind", bound=BaseRetrying)


def retrying(kind: type[Kind], policy: Policy) -> Kind:
    """Return tenacity's loop as *policy* limits it: exponential backoff with jitter, never before Retry-After."""
    return kind(
        stop=stop_after_attempt(policy.model_tries),
        wait=lambda state: _delay(state, policy.retry_wait_seconds),
        retry=retry_if_exception(is_transient),
        reraise=True,
    )


def is_transient(error: BaseException) -> bool:
    """Whether a retry may succeed."""
    if (retry_after(error) or 0) > MAX_WAIT_SECONDS:
        return False
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return status in TRANSIENT_STATUSES or (status >= _SERVER_ERROR and status != _NOT_IMPLEMENTED)
    has_transient_name = any(kind.__name__ in TRANSIENT_ERROR_NAMES for kind in type(error).__mro__)
    return has_transient_name or isinstance(error, TimeoutError | ConnectionError)


def _delay(state: RetryCallState, first: float) -> float:
    error = state.outcome.exception() if state.outcome else None
    backoff = first * 2 ** (state.attempt_number - 1) * random.uniform(0.5, 1.5)  # noqa: S311 - jitter is not a secret
    return max(min(backoff, MAX_WAIT_SECONDS), (retry_after(error) or 0) if error else 0)


def retry_after(error: BaseException) -> float | None:
    """Return the seconds of a Retry-After header, given as a number or a date; None without one."""
    headers = getattr(getattr(error, "response", None), "headers", None)
    value = cast("Any", headers).get("retry-after") if hasattr(headers, "get") else None
    if not isinstance(value, str):
        return None
    try:
        return float(value)
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None
