"""Chat models: by name, asked with patience, and one that is built in."""

OFFLINE = "offline"
"""Name of the built-in model, which needs no key and no network."""
OFFLINE_LOCAL = "offline:local"
"""Its name with the embedding model of the extra `local`, by which it finds more."""
