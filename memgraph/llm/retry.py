"""How long a call may take, and when to try again."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypedDict, TypeVar, cast

from tenacity import RetryCallState, retry_if_exception, stop_after_attempt

from memgraph.policy import Policy

T = TypeVar("T")

TRANSIENT_STATUSES = frozenset({408, 409, 429})
_SERVER_ERROR = 500
MAX_WAIT_SECONDS = 600.0  # a provider that asks for more than ten minutes is down, not busy
# Clients wrap what went wrong on the wire in errors of their own, which share no base class.
TRANSIENT_ERROR_NAMES = frozenset({"APIConnectionError", "APITimeoutError", "TransportError"})


class RetryOptions(TypedDict):
    """What tenacity is told."""

    stop: Any
    wait: Callable[[RetryCallState], float]
    retry: Any
    reraise: bool


def retry_options(policy: Policy) -> RetryOptions:
    """How often, and after what waits, a call is tried again: growing, jittered, never before Retry-After."""
    return {
        "stop": stop_after_attempt(policy.model_tries),
        "wait": lambda tried: _wait(tried, policy.retry_wait_seconds),
        "retry": retry_if_exception(is_transient),
        "reraise": True,
    }


def is_transient(error: BaseException) -> bool:
    """Whether trying again may help."""
    if (retry_after(error) or 0) > MAX_WAIT_SECONDS:
        return False
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return status in TRANSIENT_STATUSES or status >= _SERVER_ERROR
    named = any(kind.__name__ in TRANSIENT_ERROR_NAMES for kind in type(error).__mro__)
    return named or isinstance(error, TimeoutError | ConnectionError)


def _wait(tried: RetryCallState, first: float) -> float:
    error = tried.outcome.exception() if tried.outcome else None
    growing = first * 2 ** (tried.attempt_number - 1) * random.uniform(0.5, 1.5)  # noqa: S311 - jitter is no secret
    return max(min(growing, MAX_WAIT_SECONDS), (retry_after(error) or 0) if error else 0)


def retry_after(error: BaseException) -> float | None:
    """Seconds the provider asks to wait, from a Retry-After header in either of its forms."""
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
