"""Chat models: by name, asked with patience, and one that is built in."""
