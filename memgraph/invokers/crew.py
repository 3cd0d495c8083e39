"""The crew: threads that keep an engine running. One waits and hands out jobs, the others run one job each.

All are daemons with threads of their own rather than a pool's, since a pool is joined at exit; a job that hangs
holds up its own scope and nothing else.
"""

from __future__ import annotations

import contextvars
import logging
import math
import threading
import time
from typing import TYPE_CHECKING

from memgraph.errors import OutboxError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memgraph.invokers.engine import Engine
    from memgraph.invokers.outbox import Claim, Job

logger = logging.getLogger("memgraph.invoker")

POLL_SECONDS = 1.0
"""How often to look for what other processes left."""
TROUBLE_SECONDS = 5.0
"""How long to wait when the outbox cannot be reached."""
LOOK_SECONDS = 0.1
"""How often flush looks whether it is done, while jobs run."""
LOOK_SHARE = 20
"""Where a look takes long, the next one comes after that many times as long."""


class Crew:
    """Runs the jobs of *engine* when they are due, until it is closed."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._turn = threading.Condition()
        self._woken = False
        self._running: dict[str, Claim] = {}
        self._dispatcher: threading.Thread | None = None
        self._wanted = False
        self._look_at = math.inf
        self._renew_at = 0.0

    def start(self) -> None:
        """Start handing out jobs, once; also what an earlier process left."""
        with self._turn:
            self._wanted = True
            if self._dispatcher is None and not self._engine.closing:
                self._dispatcher = threading.Thread(target=self._dispatch, daemon=True, name="memgraph-invoker")
                self._dispatcher.start()

    def expect(self, due: float) -> None:
        """Something will be due at *due*: look then, if not before. Cheap, since every submission says so."""
        if due < self._look_at:
            self.wake()

    def revive(self) -> None:
        """Start again in the child of a fork, where there is no thread."""
        if self._wanted and self._dispatcher is None:
            self.start()

    def wake(self) -> None:
        """Look again now: something may be due earlier than was thought."""
        with self._turn:
            self._woken = True
            self._turn.notify_all()

    def flush(self, timeout: float | None) -> bool:
        """Run what waits now, and wait until each of it was run once. Whether all of it was learned from."""
        deadline = _deadline(timeout)
        before = {job.id: job for job in self._waiting()}
        if not before:
            return True
        self._engine.outbox.hasten(now=self._engine.clock.now())
        self.wake()
        while True:
            looked = time.monotonic()
            left = [job for job in self._waiting() if _is_left(before.get(job.id), job)]
            if not left:
                return not any(_was_among(before.values(), job) for job in self._not_learned())
            all_tried = all(job.tries != before[job.id].tries for job in left)
            now = time.monotonic()
            if all_tried or now >= deadline or self._engine.closing:
                return False
            self._look_away(min(max(LOOK_SECONDS, LOOK_SHARE * (now - looked)), deadline - now))

    def _look_away(self, seconds: float) -> None:
        """Wait, but only a moment while nothing runs: it is about to begin, or has ended."""
        with self._turn:
            self._turn.wait_for(lambda: not self._running, seconds)
            if not self._running:
                self._turn.wait(seconds / 10)

    def close(self, timeout: float) -> bool:
        """Hand out nothing more, and wait for what runs. Whether all of it ended in time."""
        self._engine.closing = True
        deadline = _deadline(timeout)
        self.wake()
        dispatcher = self._dispatcher
        if dispatcher:  # first, since it may be about to start what it claimed
            dispatcher.join(max(0.0, deadline - time.monotonic()))
        with self._turn:
            ended = self._turn.wait_for(lambda: not self._running, max(0.0, deadline - time.monotonic()))
        return ended and not (dispatcher and dispatcher.is_alive())

    def forked(self) -> None:
        """In a child process: there are no threads here until somebody asks for something."""
        self._turn = threading.Condition()
        self._woken = False
        self._running = {}
        self._dispatcher = None

    # -- the dispatcher -------------------------------------------------------------------------------

    def _dispatch(self) -> None:
        troubled = False
        while not self._engine.closing:
            try:
                wait, troubled = self._hand_out(), False
            except Exception as error:  # said in the log; without this thread nothing would run any more
                expected = isinstance(error, OutboxError)
                level = logging.DEBUG if troubled else logging.ERROR
                logger.log(level, "updates wait: %s", error, exc_info=None if expected else error)
                wait, troubled = TROUBLE_SECONDS, True
            with self._turn:
                if not self._woken:
                    self._turn.wait(wait)
                self._woken = False

    def _hand_out(self) -> float:
        """Start what is due as far as there is room, keep the leases, and say how long to wait."""
        engine = self._engine
        self._look_at = math.inf  # until it is known when to look again, whatever comes in has to wake us
        room = self._room()
        due = engine.outbox.next_due(now=engine.clock.now())
        if room and due is not None and due <= engine.clock.now():
            for claim in engine.claim(room):
                self._start(claim)
            room = self._room()
            due = engine.outbox.next_due(now=engine.clock.now())
        self._renew()
        now = engine.clock.now()
        wait = min(POLL_SECONDS, engine.limits.lease_seconds / 3)
        if room and due is not None:
            wait = min(wait, max(0.0, due - now, engine.paused_until - now))
        self._look_at = now + wait
        return wait

    def _room(self) -> int:
        with self._turn:
            return self._engine.limits.max_concurrency - len(self._running)

    def _start(self, claim: Claim) -> None:
        # a thread begins with an empty context, except where Python was told otherwise
        run = contextvars.Context().run
        name = f"memgraph-update {claim.job_id}"
        thread = threading.Thread(target=run, args=(self._run, claim), daemon=True, name=name)
        with self._turn:
            self._running[claim.lease] = claim
        try:
            thread.start()
        except RuntimeError:  # no more threads may be started
            self._end(claim)
            self._engine.outbox.release(claim)
            raise

    def _run(self, claim: Claim) -> None:
        following: Claim | None = claim
        while following:
            try:
                self._engine.run(following)
            finally:
                following = self._next(following)

    def _next(self, claim: Claim) -> Claim | None:
        """What to run after *claim* in the same thread, which spares the dispatcher a turn; None if nothing is due."""
        try:
            found = () if self._engine.closing else self._engine.claim(1)
        except OutboxError:
            found = ()  # the dispatcher meets the same, and says so
        with self._turn:
            self._running.update({following.lease: following for following in found})
        self._end(claim, wake=not found)
        return found[0] if found else None

    def _end(self, claim: Claim, *, wake: bool = True) -> None:
        with self._turn:
            self._running.pop(claim.lease, None)
            self._woken = self._woken or wake
            if wake:
                self._turn.notify_all()

    def _renew(self) -> None:
        now = time.monotonic()
        if now >= self._renew_at:
            self._renew_at = now + self._engine.limits.lease_seconds / 3
            self._engine.renew()

    def _not_learned(self) -> list[Job]:
        outbox = self._engine.outbox
        return [*outbox.aside(), *(held.job for held in outbox.in_review())]

    def _waiting(self) -> tuple[Job, ...]:
        return self._engine.outbox.waiting(now=self._engine.clock.now())


def _is_left(before: Job | None, now: Job) -> bool:
    """Whether *now* still holds something of *before*."""
    return before is not None and now.first <= before.last


def _was_among(before: Iterable[Job], now: Job) -> bool:
    """Whether *now*, which waits no more, holds something of one of *before*."""
    return any(job.key == now.key and job.first <= now.last and now.first <= job.last for job in before)


def _deadline(timeout: float | None) -> float:
    return math.inf if timeout is None else time.monotonic() + timeout
