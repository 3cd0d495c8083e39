"""Attachable memories: stores that a graph's nodes read and write, apart from the memory of the user."""
