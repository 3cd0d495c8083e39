"""Clean ends: what runs is finished, within a limit, when the interpreter exits or SIGTERM comes.

At exit daemon threads still run while `atexit` is called, so an update whose model is being asked is finished; one that
would have to start something new may not, and stays in the outbox. Nothing is lost either way.

SIGTERM is watched only from the main thread, and only where nobody else handles it: a server that does, such as
uvicorn, exits by itself, and then the interpreter does.
"""

from __future__ import annotations

import atexit
import os
import signal
import threading
from collections.abc import Callable
from types import FrameType

EXIT_SECONDS = 10.0
"""How long an exit waits for what runs."""

Close = Callable[[float], None]


class _Terminated:
    """A handler that closes, and then lets the process die of SIGTERM as it would have."""

    def __init__(self, close: Close) -> None:
        self._close = close

    def __call__(self, number: int, frame: FrameType | None) -> None:
        del frame
        signal.signal(number, signal.SIG_DFL)  # a second one kills at once
        # This may have interrupted whoever holds a lock that closing needs: then the limit ends the wait.
        closer = threading.Thread(target=self._close, args=(EXIT_SECONDS,), daemon=True, name="memgraph-close")
        closer.start()
        closer.join(EXIT_SECONDS + 1)
        os.kill(os.getpid(), number)


def install(close: Close) -> None:
    """Call *close* with a time limit when the process ends. Saying so again changes nothing."""
    atexit.unregister(_at_exit)
    atexit.register(_at_exit, close)
    if _is_main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _Terminated(close))


def uninstall() -> None:
    """Leave the end of the process as it was."""
    atexit.unregister(_at_exit)
    if _is_main_thread() and isinstance(signal.getsignal(signal.SIGTERM), _Terminated):
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _at_exit(close: Close) -> None:
    close(EXIT_SECONDS)


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
