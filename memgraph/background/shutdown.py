"""Clean shutdown: running updates finish, within a time limit, at interpreter exit and on SIGTERM.

Daemon threads still run while `atexit` handlers are called, so an update that waits for its model can finish. One that
would have to start a thread cannot, and stays in the outbox. Nothing is lost either way.

The SIGTERM handler is installed from the main thread only, and only if there is no other: a server that has its own,
such as uvicorn, exits normally, which calls the `atexit` handler.
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


def install(close: Close) -> None:
    """Call *close* with a time limit when the process ends. A second call has no further effect."""
    atexit.unregister(_at_exit)
    atexit.register(_at_exit, close)
    if _is_main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
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
