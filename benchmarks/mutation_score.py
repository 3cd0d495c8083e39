"""Print the share of mutants that a test killed, and fail below the promised one.

python benchmarks/mutation_score.py mutants/mutmut-cicd-stats.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

PROMISED = 0.85


def main() -> None:
    stats: dict[str, int] = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    killed = stats["killed"] + stats["timeout"]
    score = killed / stats["total"]
    print(f"{killed:,} of {stats['total']:,} mutants killed: {score:.1%} (promised: {PROMISED:.0%})")
    sys.exit(score < PROMISED)


if __name__ == "__main__":
    main()
