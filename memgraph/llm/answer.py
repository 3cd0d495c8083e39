"""Reads the message of a chat model: the answer, whether it is whole, and what it used."""

from __future__ import annotations

import json
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.ai import UsageMetadata

from memgraph.analysis.normalize import clean
from memgraph.models import Answer
from memgraph.report import Usage

_FINISH_KEYS = ("finish_reason", "stop_reason", "done_reason")  # OpenAI and Google, Anthropic, Ollama
_LENGTH_LIMITS = frozenset({"length", "max_tokens"})


def read_answer(message: AIMessage) -> Answer:
    """Return the answer in the text of *message*, or in its tool calls, as they came: LangChain completes cut ones."""
    streamed = message.tool_call_chunks if isinstance(message, AIMessageChunk) else ()
    calls = [call["args"] or "" for call in streamed] or [json.dumps(call["args"]) for call in message.tool_calls]
    return Answer(
        text=clean(message.text or "\n".join(calls)),
        cut_off=any(str(message.response_metadata.get(key)).lower() in _LENGTH_LIMITS for key in _FINISH_KEYS),
        refused=bool(message.additional_kwargs.get("refusal")),
    )


def read_usage(message: AIMessage) -> Usage:
    """Return the usage of one call."""
    tokens = message.usage_metadata
    return Usage(
        calls=1,
        input_tokens=tokens["input_tokens"] if tokens else 0,
        output_tokens=tokens["output_tokens"] if tokens else 0,
    )


def truncated_answer(error: Exception) -> AIMessage | None:
    """Return the text up to the length limit, for which OpenAI's client raises an error if a schema was requested."""
    completion: Any = getattr(error, "completion", None)
    if type(error).__name__ != "LengthFinishReasonError" or completion is None:
        return None
    usage = completion.usage
    return AIMessage(
        completion.choices[0].message.content or "",
        response_metadata={"finish_reason": "length"},
        usage_metadata=UsageMetadata(
            input_tokens=usage.prompt_tokens, output_tokens=usage.completion_tokens, total_tokens=usage.total_tokens
        )
        if usage
        else None,
    )
