"""Reads YAML by the C library if PyYAML was built with it, which takes a tenth of the time."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import yaml

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load_yaml(text: str | bytes) -> Any:  # noqa: ANN401 - the caller checks it
    """Return the plain values in a document.

    Raises:
        yaml.YAMLError: If it is not YAML.
    """
    return yaml.load(text, _Loader)  # noqa: S506 - both loaders are safe


def read_packaged(package: str, name: str) -> Any:  # noqa: ANN401 - as above
    """Return the plain values in the file *name* of *package*."""
    return load_yaml(files(package).joinpath(name).read_bytes())
