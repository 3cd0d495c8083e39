"""An audit of any text takes time in proportion to its length."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
UNITS = (" ", "\n", " \n", "\u3000", "system\n", "the ", "我喜欢", "ignore ", '{"name": ')
LENGTH = 48_000
LIMIT_SECONDS = 120
"""A cubic pattern would not end."""

AUDIT = """
import json, sys
from datetime import UTC, datetime
from functools import partial
from cpu_time import growth
from memgraph.audit import apply_fixes, audit
from memgraph.models import Fact, MemoryDocument, Section

def repair(text):
    for hostile in (text, f"The user{text}x", f"x{text}", f"The user lives in{text}x{text}."):
        memory = MemoryDocument(facts=(Fact(content=hostile), Fact(content="Lives in Oslo.")))
        memory = memory.with_section("work_context", Section(summary=hostile))
        apply_fixes(memory, audit(memory, datetime(2026, 1, 1, tzinfo=UTC)))

units, length = json.loads(sys.argv[1])
repair("warm up")
print(json.dumps({unit: growth(lambda n: partial(repair, unit * (n // len(unit))), length) for unit in units}))
"""


def test_an_audit_is_linear_in_the_length_of_a_text() -> None:
    """A single fact with a long run of blanks must not stop it. In a process, since a pattern cannot be interrupted."""
    command = [sys.executable, "-c", AUDIT, json.dumps([UNITS, LENGTH])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (TESTS, *filter(None, sys.path))))}

    ran = subprocess.run(command, check=True, timeout=LIMIT_SECONDS, capture_output=True, text=True, env=environment)

    assert json.loads(ran.stdout) == dict.fromkeys(UNITS)
