"""Documents as a memory: scanning folders, reading files, and an index that follows their changes."""
