"""Integrations: a memory behind the interfaces of other projects, for programs and models that know nothing of it."""
