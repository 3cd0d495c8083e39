"""The tokens of the app under test, and how it is asked."""

from __future__ import annotations

from collections.abc import Callable

import httpx

ALL = "token-for-everybody"
ADA = "token-of-ada-alone"
BOB = "token-of-bob-alone"

Ask = Callable[..., httpx.Response]
"""Ask below /memory: `ask("GET", "facts", user_id="ada")`."""
