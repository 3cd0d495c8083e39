"""Context: who is remembered, and with which model, storage and policy - and how a node finds them.

In Python pass objects; over HTTP and in YAML pass strings. What a run does not say, the graph it
runs on does. A graph inside another one gets its parent's context, of whatever type: identity is
taken from it, but a model, a storage or a policy only ever from a Context of ours.
"""

from memgraph.context.context import Context
from memgraph.context.runtime import ContextResolver, RunContext, get_field

__all__ = ["Context", "ContextResolver", "RunContext", "get_field"]
