"""An audit of any text takes time in proportion to its length."""

from __future__ import annotations

import json
import subprocess
import sys

UNITS = (" ", "\n", " \n", "\u3000", "system\n", "the ", "我喜欢", "ignore ", '{"name": ')
LENGTH = 48_000
GROWTH = 4
MAX_GROWTH = 8
"""Four times the text takes four times as long if the time is linear, and 16 times if it is quadratic."""
NOISE_SECONDS = 0.25
LIMIT_SECONDS = 120
"""A cubic pattern would not end."""

AUDIT = """
import json, sys, time
from datetime import UTC, datetime
from memgraph.audit import apply_fixes, audit
from memgraph.models import Fact, Memory, Section

def seconds_of(text):
    start = time.process_time()
    for hostile in (text, f"The user{text}x", f"x{text}", f"The user lives in{text}x{text}."):
        memory = Memory(facts=(Fact(content=hostile), Fact(content="Lives in Oslo.")))
        memory = memory.with_section("work_context", Section(summary=hostile))
        apply_fixes(memory, audit(memory, datetime(2026, 1, 1, tzinfo=UTC)))
    return time.process_time() - start

units, lengths = json.loads(sys.argv[1])
seconds_of("warm up")
print(json.dumps({unit: [seconds_of(unit * (length // len(unit))) for length in lengths] for unit in units}))
"""


def test_an_audit_is_linear_in_the_length_of_a_text() -> None:
    """A single fact with a long run of blanks must not stop it. In a process, since a pattern cannot be interrupted."""
    asked = json.dumps([UNITS, (LENGTH // GROWTH, LENGTH)])
    command = [sys.executable, "-c", AUDIT, asked]

    ran = subprocess.run(command, check=True, timeout=LIMIT_SECONDS, capture_output=True, text=True)

    seconds = json.loads(ran.stdout)
    assert len(seconds) == len(UNITS)
    assert {
        unit: (short, long) for unit, (short, long) in seconds.items() if long > MAX_GROWTH * short + NOISE_SECONDS
    } == {}
