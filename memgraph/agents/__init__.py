"""Memory inside a lead agent: a middleware, nodes, and tools.

Each of them finds user, agent and thread in the run, and none of them costs an agent its answer: what fails is
logged, and the agent goes on without.
"""
