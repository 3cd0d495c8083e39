"""Memory for agents: a middleware, graph nodes, and tools.

Each of them reads user, agent and thread from the run. A memory that fails is logged and never stops the agent.
"""
