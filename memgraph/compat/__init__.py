"""Memgraph behind the interfaces of other projects: LangMem's functions, and DeerFlow's memory manager.

- `memgraph.compat.langmem`: LangMem's tools, managers, searcher and executor.
- `memgraph.compat.deerflow`: `MemgraphManager`, a `memory.manager_class`.
"""
