"""The nodes of the update graph: file = function = node."""
