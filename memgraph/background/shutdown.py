"""Clean shutdown: what is pending is learned at a normal exit, and running updates finish on SIGTERM.

Both have a time limit, and nothing is lost: what remains is due in the outbox, for the next process. Jobs have to be
run before `atexit` handlers are called, since no thread and no executor can be started any more then. Daemon threads
still run, so an update that waits for its model can finish.

SIGTERM is handled only if it would kill the process: the first submission installs the handler, if it comes from the
main thread, and the setting `handle_sigterm` switches it off. A process that has a handler of its own, such as uvicorn,
or that ignores the signal, keeps it: it accepts conversations until it exits, which calls the `atexit` handler. A
handler that is installed later may call this one, which closes and then does what the one before it would have done.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType

EXIT_SECONDS = 10.0
"""Maximum seconds that SIGTERM leaves to running updates."""

CAN_START_THREADS = sys.version_info[:3] not in {(3, 12, 0), (3, 12, 1)}
"""Whether threads can be started until `atexit` handlers run. Python 3.12.0 and 3.12.1 refuse them from the first step
of the exit (python/cpython#113964), so that nothing can be learned there any more."""

Close = Callable[[float | None], None]
"""Receives the limit in seconds; None is what a normal exit has left."""


class _SigtermHandler:
    """Signal handler that closes, and then lets SIGTERM terminate the process as it would have."""

    def __init__(self, close: Close) -> None:
        self._close = close

    def __call__(self, number: int, frame: FrameType | None) -> None:
        del frame
        signal.signal(number, signal.SIG_DFL)  # a second SIGTERM kills at once
        # on a thread: if the signal interrupted code that holds a lock which close needs, the time limit ends the wait
        closer = threading.Thread(target=self._close, args=(EXIT_SECONDS,), daemon=True, name="memgraph-close")
        closer.start()
        closer.join(EXIT_SECONDS + 1)
        os.kill(os.getpid(), number)


def install(close: Close, *, handle_sigterm: bool) -> None:
    """Call *close* with a time limit when the process ends. A second call has no further effect.

    Args:
        close: Waits for running updates.
        handle_sigterm: Whether to call it on SIGTERM, too. It has no effect on other threads than the main one.
    """
    atexit.unregister(_at_exit)
    atexit.register(_at_exit, close)
    if handle_sigterm and _is_main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _SigtermHandler(close))


@functools.cache
def call_before_exit(act: Callable[[], object]) -> None:
    """Call *act* once when the main thread has ended, while threads and executors still work.

    concurrent.futures uses the same function for the same purpose. It calls the last one first, and *act* comes later.
    """
    # It is private, but nothing public does: executors refuse work in `atexit` handlers, and on a thread that waits for
    # the main one to end (tried on Python 3.11 to 3.13). Without it, what is pending waits for the next process.
    register: Callable[[Callable[[], object]], None] | None = getattr(threading, "_register_atexit", None)
    if register:
        with contextlib.suppress(RuntimeError):  # the exit has begun already
            register(act)


def show_progress(jobs: int, seconds: float) -> None:
    """Write on a terminal what the exit, or a `close`, waits for."""
    if jobs and sys.stderr and sys.stderr.isatty():
        what = "1 conversation" if jobs == 1 else f"{jobs:,} conversations"
        line = f"memgraph: learning from {what}, at most {seconds:g} s (Ctrl-C leaves the rest)\n"
        sys.stderr.write(line)
        sys.stderr.flush()


def uninstall() -> None:
    """Undo `install`."""
    atexit.unregister(_at_exit)
    if _is_main_thread() and isinstance(signal.getsignal(signal.SIGTERM), _SigtermHandler):
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _at_exit(close: Close) -> None:
    close(None)


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
