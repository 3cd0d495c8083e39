"""An audit of any text takes time in proportion to its length."""

from __future__ import annotations

import subprocess
import sys

import pytest

LENGTH = 200_000
LIMIT_SECONDS = 60
"""A pattern that takes quadratic time needs many minutes; linear ones need a second or two."""

AUDIT = """
import sys
from datetime import UTC, datetime
from memgraph.audit import apply_fixes, audit
from memgraph.models import Fact, Memory, Section

text = eval(sys.argv[1]) * (int(sys.argv[2]) // len(eval(sys.argv[1])))
for hostile in (text, f"The user{text}x", f"x{text}", f"The user lives in{text}x{text}."):
    memory = Memory(facts=(Fact(content=hostile), Fact(content="Lives in Oslo.")))
    memory = memory.with_section("work_context", Section(summary=hostile))
    apply_fixes(memory, audit(memory, datetime(2026, 1, 1, tzinfo=UTC)))
"""


@pytest.mark.parametrize("unit", [" ", "\n", " \n", "\u3000", "system\n", "the ", "我喜欢", "ignore ", '{"name": '])
def test_an_audit_is_linear_in_the_length_of_a_text(unit: str) -> None:
    """A single fact with a long run of blanks must not stop it."""
    subprocess.run(
        [sys.executable, "-c", AUDIT, repr(unit), str(LENGTH)], check=True, timeout=LIMIT_SECONDS, capture_output=True
    )
