"""The memory update and the upkeep as graphs."""
