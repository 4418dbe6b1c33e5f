"""Swarms and Graphs: their agents, their task, and the context that must not reach the next invocation."""

import json
from collections.abc import Iterator
from typing import Any

from strands import Agent
from strands.multiagent import Swarm
from strands.multiagent.base import MultiAgentBase

from agent_plugins.strands.attached import is_interrupted
from agent_plugins.strands.messages import turn_from
from mcp_memory_server import NewTurn, Role


def agents_of(orchestrator: MultiAgentBase) -> Iterator[Agent]:
    """Yield the agents of an orchestrator, including those of nested ones."""
    for executor in _executors(orchestrator):
        if isinstance(executor, Agent):
            yield executor
        elif isinstance(executor, MultiAgentBase):
            yield from agents_of(executor)


def nested_in(orchestrator: MultiAgentBase) -> Iterator[MultiAgentBase]:
    """Yield the orchestrators nested in an orchestrator, at any depth."""
    for executor in _executors(orchestrator):
        if isinstance(executor, MultiAgentBase):
            yield executor
            yield from nested_in(executor)


def forget_shared_context(orchestrator: MultiAgentBase) -> None:
    """Clear what a Swarm keeps from the previous invocation, which may have been for another user.

    A resumed invocation keeps it.
    """
    if isinstance(orchestrator, Swarm) and not is_resuming(orchestrator):
        orchestrator.shared_context.context.clear()


def is_resuming(orchestrator: MultiAgentBase) -> bool:
    """Return whether the invocation resumes one that was interrupted."""
    return bool(getattr(orchestrator, "_resume_from_session", False)) or is_interrupted(orchestrator)


def task_turn(task: Any) -> NewTurn | None:
    """Return the task of an orchestrator as a turn of the user."""
    if isinstance(task, str):
        return turn_from({"role": "user", "content": [{"text": task}]}, "user")
    if not isinstance(task, list) or not task:
        return None
    if all(isinstance(block, dict) and "role" not in block for block in task):
        return turn_from({"role": "user", "content": task}, "user")
    return NewTurn(Role.USER, json.dumps(task, ensure_ascii=False, default=str))


def _executors(orchestrator: MultiAgentBase) -> Iterator[Any]:
    for node in _nodes(orchestrator).values():
        yield getattr(node, "executor", None)


def _nodes(orchestrator: MultiAgentBase) -> dict[str, Any]:
    return getattr(orchestrator, "nodes", {})
