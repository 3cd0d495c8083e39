"""Clean shutdown: running updates finish, within a time limit, at interpreter exit and on SIGTERM.

Daemon threads still run while `atexit` handlers are called, so an update that waits for its model can finish. One that
would have to start a thread cannot, and stays in the outbox. Nothing is lost either way.

SIGTERM is handled only if it would kill the process: the first submission installs the handler, if it comes from the
main thread, and the setting `handle_sigterm` switches it off. A process that has a handler of its own, such as uvicorn,
or that ignores the signal, keeps it: it accepts conversations until it exits, which calls the `atexit` handler. A
handler that is installed later may call this one, which closes and then does what the one before it would have done.
"""

from __future__ import annotations

import atexit
import os
import signal
import threading
from collections.abc import Callable
from types import FrameType

EXIT_SECONDS = 10.0
"""Maximum seconds an exit waits for running updates."""

Close = Callable[[float], None]


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
        close: Receives the limit in seconds.
        handle_sigterm: Whether to call it on SIGTERM, too. It has no effect on other threads than the main one.
    """
    atexit.unregister(_at_exit)
    atexit.register(_at_exit, close)
    if handle_sigterm and _is_main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _SigtermHandler(close))


def uninstall() -> None:
    """Undo `install`."""
    atexit.unregister(_at_exit)
    if _is_main_thread() and isinstance(signal.getsignal(signal.SIGTERM), _SigtermHandler):
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _at_exit(close: Close) -> None:
    close(EXIT_SECONDS)


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
