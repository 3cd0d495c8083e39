"""The tokens of the app under test, and the type of the `call` fixture."""

from __future__ import annotations

from collections.abc import Callable

import httpx

ADMIN = "administrator-token"
ADA = "token-of-ada-alone"
BOB = "token-of-bob-alone"

ApiCall = Callable[..., httpx.Response]
"""Sends a request below /memory: `call("GET", "facts", user_id="ada")`."""
