"""The graphs of memory, compiled for LangGraph Server: `memgraph.graphs.memory_update:graph` in a langgraph.json."""
