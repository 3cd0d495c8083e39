"""python -m memgraph: the command line."""

from memgraph.cli import main

main()
