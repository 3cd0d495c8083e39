"""Attachable memories: what a node may remember by, besides the memory of its user."""
