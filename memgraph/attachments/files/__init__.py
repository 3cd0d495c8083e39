"""Documents as a memory: which files there are, what they say, and an index that follows them."""
