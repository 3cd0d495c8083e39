"""Episodes of submissions: what the user said is kept when it is submitted, so that the next recall finds it.

The update that learns from it later computes the same ids, and appends only what is missing.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from memgraph.analysis.episodes import episodes_of
from memgraph.background.planning import message_id, plan_learning
from memgraph.background.serialization import Raw, load_messages, load_raw
from memgraph.context import Context, ContextResolver, RunContext
from memgraph.retrieval.recalled import with_recalled
from memgraph.rules.watermark import advance, unlearned_turns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langgraph.runtime import Runtime

    from memgraph.background.outbox import ConversationKey, Outbox, Submission
    from memgraph.models import Turn

logger = logging.getLogger("memgraph.invoker")


class EpisodeRecorder:
    """Keeps the user's words of a submission before any model runs. The first failure in a row is logged: the update
    keeps them later.

    They survive the end of the process, but not a power cut: the outbox has them until the update makes them durable.

    Args:
        resolver: That of the update graph, so that turns and limits are those of the update. None, for a graph that
            `build_graph` did not make, keeps nothing here.
    """

    def __init__(self, resolver: ContextResolver | None) -> None:
        self._resolver = resolver
        self._is_failing = False

    def record(self, key: ConversationKey, submission: Submission, outbox: Outbox) -> None:
        """Append the episodes of the turns that no update has learned, and that were not said before a deletion.

        Args:
            key: The conversation.
            submission: What was submitted.
            outbox: Has the submission already, whatever the storage does. Those that wait with it are read if they
                matter: if the memory was ever deleted, or if messages have no ids and are identified by what precedes
                them.
        """
        if self._resolver is None:
            return
        try:
            self._append(_runtime(self._resolver, key), key, submission, outbox)
            self._is_failing = False
        except Exception as error:  # noqa: BLE001 - a custom storage may raise anything; the submission counts
            level = logging.DEBUG if self._is_failing else logging.WARNING
            self._is_failing = True
            text = "%s: what was said is kept by its update only: %s: %s"
            logger.log(level, text, key.log_name, type(error).__name__, error)

    @staticmethod
    def _append(runtime: Runtime[RunContext], key: ConversationKey, submission: Submission, outbox: Outbox) -> None:
        storage, policy = runtime.context.open_storage(), runtime.context.policy
        memory = storage.load(key.scope)
        others_matter = memory.forgotten or not all(map(message_id, load_raw(submission.messages)))
        waiting, deletion = outbox.submissions(key) if others_matter else ((submission,), "")
        plan = plan_learning(waiting, deletion, memory, key.thread_id)
        turns, thread = _turns(runtime, plan.learn)
        watermark = memory.threads.get(thread)
        if plan.skipped:  # as a worker moves it when it drops a job from before a deletion
            before, _ = _turns(runtime, plan.skipped)
            watermark = advance(watermark, [turn.id for turn in before], "", policy.thread_mark_ids)
        new = with_recalled(unlearned_turns(turns, watermark), memory)
        episodes = episodes_of(new, thread=thread, policy=policy)
        storage.append_episodes(key.scope, episodes, policy, revision=memory.revision, durable=False)

    def remove(self, key: ConversationKey, messages: Sequence[Raw]) -> None:
        """Remove the episodes of *messages*, which were said before a deletion.

        Raises:
            StorageError: If they could not be removed.
        """
        if self._resolver is None:
            return
        runtime = _runtime(self._resolver, key)
        turns, thread = _turns(runtime, messages)
        episodes = episodes_of(turns, thread=thread, policy=runtime.context.policy)
        if episodes:
            runtime.context.open_storage().remove_episodes(key.scope, [episode.id for episode in episodes])


def _runtime(resolver: ContextResolver, key: ConversationKey) -> Runtime[RunContext]:
    from langgraph.runtime import Runtime

    scope = key.scope
    context = Context(user_id=scope.user_id, agent_name=scope.agent_name, thread_id=key.thread_id)
    return Runtime(context=resolver(Runtime(context=context), {}))


def _turns(runtime: Runtime[RunContext], messages: Sequence[Raw]) -> tuple[tuple[Turn, ...], str]:
    """Return the turns that an update finds in *messages*, and their thread."""
    from memgraph.update.nodes import filter_messages

    filtered = filter_messages({"messages": load_messages(messages)}, runtime)
    return filtered["turns"], filtered["origin"].thread
