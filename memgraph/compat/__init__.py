"""Memgraph behind the interfaces of other projects: LangMem's tools, and DeerFlow's memory manager.

- `memgraph.compat.langmem`: `create_manage_memory_tool` and `create_search_memory_tool`.
- `memgraph.compat.deerflow`: `MemgraphManager`, a `memory.manager_class`.
"""
