"""What a `postgresql:` URL names: the options of a connection, and a name that holds no secret."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from memgraph.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULTS: Mapping[str, str] = MappingProxyType(
    {
        "application_name": "memgraph",
        "connect_timeout": "10",
        # a server that is gone without a word is noticed within 30 s, not within 15 minutes
        "keepalives_idle": "10",
        "keepalives_interval": "5",
        "keepalives_count": "4",
        "tcp_user_timeout": "30000",
    }
)
"""Unless the URL says otherwise."""

_SEARCH_PATH = re.compile(r"search_path\s*=\s*([\w$,\"-]+)")


def options_of(location: str) -> Mapping[str, Any]:
    """Return what *location*, the URL without its scheme and colon, says about connections.

    What it does not say, libpq finds in its environment, its service file and its password file.

    Raises:
        ConfigError: If it is no such URL. The message quotes nothing of it, since it may hold a password.
    """
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    rest = location or "//"
    try:
        options = conninfo_to_dict(f"postgresql:{rest}")
    except ProgrammingError:
        options = None
    if not rest.startswith("//") or options is None or _is_torn(rest, options):
        raise ConfigError(
            "this is no URL of a PostgreSQL database; write postgresql://USER:PASSWORD@HOST:PORT/DATABASE, "
            "with : / @ and % in user and password as %3A %2F %40 and %25"
        )
    return {**DEFAULTS, **options, "client_encoding": "utf8"}


def name_of(options: Mapping[str, Any]) -> str:
    """Return a URL of the same place, without user and password."""
    host = quote(str(options.get("host") or options.get("hostaddr") or ""), safe=":,[]")
    port = f":{options['port']}" if options.get("port") else ""
    path = _SEARCH_PATH.search(str(options.get("options") or ""))
    schema = f"?options=-csearch_path%3D{quote(path[1])}" if path else ""
    return f"postgresql://{host}{port}/{quote(str(options.get('dbname') or ''))}{schema}"


def _is_torn(rest: str, options: Mapping[str, Any]) -> bool:
    """Whether a password seems to have been cut by a character of its own, and so to be in the host's place."""
    authority, _, path = rest.removeprefix("//").partition("/")
    ports = str(options.get("port") or "")
    return authority.count("@") > 1 or "@" in path.partition("?")[0] or not re.fullmatch(r"[\d,]*", ports)
