"""The rules of an update: Draft -> Draft, one small function each."""
