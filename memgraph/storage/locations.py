"""Where a storage lies: what a URL or a setting says, as an absolute path."""

from __future__ import annotations

from pathlib import Path

from memgraph.errors import ConfigError


def default_folder() -> Path:
    """The platform's folder for user data."""
    import platformdirs

    return platformdirs.user_data_path("memgraph", appauthor=False)


def absolute(path: str | Path | None) -> Path:
    """Return *path* from the working folder, `~` expanded; the platform's folder for user data without one."""
    if not path:
        return default_folder()
    try:
        return Path(path).expanduser().absolute()
    except RuntimeError as error:
        raise ConfigError(f"{path}: {error}") from None


def path_of_url(scheme: str, location: str) -> str:
    """Return the path in `SCHEME:PATH` or `SCHEME:///PATH`.

    Raises:
        ConfigError: If it names a host, as `SCHEME://HOST/PATH` does.
    """
    if not location.startswith("//"):
        return location
    if not location.startswith("///"):
        raise ConfigError(f"{scheme}:{location} names a host; write {scheme}:{location.lstrip('/')}")
    return location[2:]
