"""The history of a memory: what changed from one revision to the next, and how it is reversed. No I/O."""
