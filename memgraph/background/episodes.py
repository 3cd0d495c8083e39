"""Episodes of submissions: what the user said is kept when it is submitted, so that the next recall finds it.

The update that learns from it later computes the same ids, and appends only what is missing.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from memgraph.background.planning import message_id, plan_learning, views_of
from memgraph.background.serialization import load_messages
from memgraph.context import Context
from memgraph.rules.watermark import advance, unlearned_turns
from memgraph.text.episodes import episodes_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langgraph.runtime import Runtime

    from memgraph.background.outbox import ConversationKey, Outbox, Submission
    from memgraph.background.planning import SubmissionView
    from memgraph.background.serialization import Raw
    from memgraph.context import ContextResolver, RunContext
    from memgraph.models import Memory, Turn, Watermark

logger = logging.getLogger("memgraph.invoker")


class EpisodeRecorder:
    """Keeps the user's words of a submission before any model runs. Failures are logged: the update keeps them later.

    Args:
        resolver: That of the update graph, so that turns and limits are those of the update. None, for a graph that
            `build_graph` did not make, keeps nothing here.
    """

    def __init__(self, resolver: ContextResolver | None) -> None:
        self._resolver = resolver

    def load(self, key: ConversationKey) -> Memory | None:
        """Return the memory of *key*, to be loaded before a submission; None if nothing can be kept."""
        if self._resolver is None:
            return None
        try:
            return self._runtime(self._resolver, key).context.open_storage().load(key.scope)
        except Exception as error:  # noqa: BLE001 - a custom storage may raise anything; the submission counts
            _log_failure(key, error)
            return None

    def append(self, key: ConversationKey, submission: Submission, memory: Memory, outbox: Outbox) -> None:
        """Append the episodes of the turns that no update has learned, and that were not said before a deletion.

        Args:
            key: The conversation.
            submission: What was submitted.
            memory: As it was loaded before the submission. If it was deleted since, nothing is kept.
            outbox: Has the submission. Those that wait with it are read if they matter: if the memory was ever
                deleted, or if messages have no ids and are identified by what precedes them.
        """
        if self._resolver is None:
            return
        try:
            views = views_of([submission], "")
            if memory.forgotten or not all(map(message_id, views[0].messages)):
                views = views_of(*outbox.submissions(key))
            self._append(self._runtime(self._resolver, key), key, views, memory)
        except Exception as error:  # noqa: BLE001 - as above
            _log_failure(key, error)

    def remove(self, key: ConversationKey, messages: Sequence[Raw]) -> None:
        """Remove the episodes of *messages*, which were said before a deletion.

        Raises:
            StorageError: If they could not be removed.
        """
        if self._resolver is None:
            return
        runtime = self._runtime(self._resolver, key)
        turns, thread = _turns(runtime, messages)
        episodes = episodes_of(turns, thread=thread, policy=runtime.context.policy)
        if episodes:
            runtime.context.open_storage().remove_episodes(key.scope, [episode.id for episode in episodes])

    def _append(
        self, runtime: Runtime[RunContext], key: ConversationKey, views: Sequence[SubmissionView], memory: Memory
    ) -> None:
        policy = runtime.context.policy
        plan = plan_learning(views, memory, key.thread_id)
        turns, thread = _turns(runtime, plan.learn)
        before, _ = _turns(runtime, plan.skipped)
        new = unlearned_turns(turns, _with_learned(memory.threads.get(thread), before, policy.thread_mark_ids))
        episodes = episodes_of(new, thread=thread, policy=policy)
        runtime.context.open_storage().append_episodes(key.scope, episodes, policy, revision=memory.revision)

    @staticmethod
    def _runtime(resolver: ContextResolver, key: ConversationKey) -> Runtime[RunContext]:
        from langgraph.runtime import Runtime

        scope = key.scope
        context = Context(user_id=scope.user_id, agent_name=scope.agent_name, thread_id=key.thread_id)
        return Runtime(context=resolver(Runtime(context=context), {}))


def _turns(runtime: Runtime[RunContext], messages: Sequence[Raw]) -> tuple[tuple[Turn, ...], str]:
    """Return the turns that an update finds in *messages*, and their thread."""
    from memgraph.nodes.filter_messages import filter_messages

    filtered = filter_messages({"messages": load_messages(messages)}, runtime)
    return filtered["turns"], filtered["origin"].thread


def _with_learned(watermark: Watermark | None, turns: Sequence[Turn], keep: int) -> Watermark | None:
    """Return *watermark* past *turns*, as a worker moves it when it drops a job from before a deletion."""
    return advance(watermark, [turn.id for turn in turns], "", keep) if turns else watermark


def _log_failure(key: ConversationKey, error: Exception) -> None:
    logger.warning("%s: what was said is kept by its update only: %s: %s", key, type(error).__name__, error)
