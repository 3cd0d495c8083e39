"""Context: whose memory a run works on, with which model, storage and policy, and how nodes read it.

In Python, fields hold objects; over HTTP and in YAML, strings. A field that a run leaves out has the value that its
graph was built with. A run over HTTP chooses identity and limits, but a model, a prompt or a storage only by a name
that the settings allow: see `AllowedChoices`. A graph inside another one gets the context of its parent, of whatever
type: ids are taken from it, but a model, a storage or a policy only from a `Context`.
"""

from memgraph.context.context import AllowedChoices, Context, SubmittedContext, UserContext
from memgraph.context.runtime import ContextResolver, RunContext, get_field

__all__ = ["AllowedChoices", "Context", "ContextResolver", "RunContext", "SubmittedContext", "UserContext", "get_field"]
