"""Refused: a request that is understood, and not done."""

from __future__ import annotations

from http import HTTPStatus


class Refused(Exception):  # noqa: N818 - it reads as what happened
    """The request is not done."""

    def __init__(self, status: HTTPStatus, error: str, detail: str, **headers: str) -> None:
        super().__init__(detail)
        self.status = status
        self.error = error
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}
