"""The nodes of the graphs: a function each, by the name of its node."""
