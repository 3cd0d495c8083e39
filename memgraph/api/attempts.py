"""SignInAttempts: exponential back-off for addresses that send wrong tokens."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import IPv6Address, ip_address
from typing import NamedTuple, TypeVar

K = TypeVar("K")
V = TypeVar("V")

FREE_ATTEMPTS = 10
"""Wrong tokens of an address that are answered at once: a client with an old token, or a typing error."""
MAX_WAIT_SECONDS = 60
"""The longest wait. It doubles with each wrong token, from 1 s."""
FORGET_SECONDS = 900
"""Seconds without a wrong token after which an address starts afresh."""
MAX_ENTRIES = 10_000
"""Maximum size of each table; the entry that was used least recently is dropped."""


class Failures(NamedTuple):
    """The wrong tokens of an address."""

    times: int
    last_at: float

    @property
    def wait_seconds(self) -> float:
        """Seconds from the last wrong token in which none is checked."""
        excess = self.times - FREE_ATTEMPTS
        return min(2.0 ** min(excess, 30), MAX_WAIT_SECONDS) if excess >= 0 else 0


@dataclass(frozen=True)
class SignInAttempts:
    """Counts the wrong tokens of each address. A token that was right at an address is never refused there.

    Otherwise any client behind the same proxy could lock the others out. Tables contain addresses and hashes only.
    """

    clock: Callable[[], float] = time.monotonic
    _failures: OrderedDict[str, Failures] = field(default_factory=OrderedDict[str, Failures])
    _known: OrderedDict[tuple[str, bytes], None] = field(default_factory=OrderedDict[tuple[str, bytes], None])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def check(self, host: str, token_hash: bytes, *, is_valid: bool) -> float:
        """Record an attempt, and return the seconds that its address has to wait: 0 if the token may be answered."""
        address = _network(host)
        with self._lock:
            if is_valid and (address, token_hash) in self._known:
                self._known.move_to_end((address, token_hash))
                return 0
            now, failures = self.clock(), self._failures.get(address, Failures(0, 0))
            if now - failures.last_at > FORGET_SECONDS:
                failures = Failures(0, 0)
            remaining = failures.last_at + failures.wait_seconds - now
            if failures.times and remaining > 0:
                return remaining
            if is_valid:
                _put(self._known, (address, token_hash), None)
            else:
                _put(self._failures, address, Failures(failures.times + 1, now))
            return 0


def _put(table: OrderedDict[K, V], key: K, value: V) -> None:
    table[key] = value
    table.move_to_end(key)
    if len(table) > MAX_ENTRIES:
        table.popitem(last=False)


def _network(host: str) -> str:
    """Return the part of an address that one client has: of IPv6, a /64. All other texts count as one client."""
    try:
        address = ip_address(host)
    except ValueError:
        return ""
    return str(int(address) >> 64) if isinstance(address, IPv6Address) else str(address)
