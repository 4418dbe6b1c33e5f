"""Memory for agents of any framework: circuit breakers for tools, guards against loops, and a shared state.

The plugins themselves are in `agent_plugins.strands` and `agent_plugins.agent_squad`. Importing this package loads no
framework and no Redis.
"""

from typing import TYPE_CHECKING

from agent_plugins.breakers.circuit_breaker import CircuitBreaker
from agent_plugins.breakers.circuit_rules import BreakerRules, CircuitOpenError, SharedCircuits
from agent_plugins.breakers.failures import FailedCall, counts_as_failure, every_error
from agent_plugins.breakers.invocations import Invocation
from agent_plugins.breakers.status_file import StatusFile
from agent_plugins.breakers.tool_registry import Refusal, Tool, ToolRegistry
from agent_plugins.guards.agent_locks import AgentLocks, LockNotFreeError
from agent_plugins.guards.findings import Finding, GuardRules, LoopKind
from agent_plugins.guards.loop_guards import Guards
from agent_plugins.state.change_batches import Saved
from agent_plugins.state.changes import (
    ask_for_missing_slot,
    ask_user,
    begin_task,
    clear_slot,
    confirm_slot,
    end_task,
    enter_phase,
    escalate,
    fail_step,
    fill_slot,
    finish_step,
    hand_over,
    need_slot,
    need_slots,
    plan_step,
    return_to_agents,
    skip_step,
    start_step,
    take_turn,
    time_out_steps,
    understand,
    user_answered,
)
from agent_plugins.state.handoff_packet import HandoffPacket
from agent_plugins.state.phases import NEXT_PHASES, Phase
from agent_plugins.state.session_state import Change, SessionState
from agent_plugins.state.state_coordinator import StateCoordinator
from agent_plugins.state.token_budget import split_budget

if TYPE_CHECKING:
    from agent_plugins.breakers.redis_circuits import RedisCircuits

__all__ = [
    "NEXT_PHASES",
    "AgentLocks",
    "BreakerRules",
    "Change",
    "CircuitBreaker",
    "CircuitOpenError",
    "FailedCall",
    "Finding",
    "GuardRules",
    "Guards",
    "HandoffPacket",
    "Invocation",
    "LockNotFreeError",
    "LoopKind",
    "Phase",
    "RedisCircuits",
    "Refusal",
    "Saved",
    "SessionState",
    "SharedCircuits",
    "StateCoordinator",
    "StatusFile",
    "Tool",
    "ToolRegistry",
    "ask_for_missing_slot",
    "ask_user",
    "begin_task",
    "clear_slot",
    "confirm_slot",
    "counts_as_failure",
    "end_task",
    "enter_phase",
    "escalate",
    "every_error",
    "fail_step",
    "fill_slot",
    "finish_step",
    "hand_over",
    "need_slot",
    "need_slots",
    "plan_step",
    "return_to_agents",
    "skip_step",
    "split_budget",
    "start_step",
    "take_turn",
    "time_out_steps",
    "understand",
    "user_answered",
]


def __getattr__(name: str) -> object:
    if name == "RedisCircuits":  # needs the package redis
        from agent_plugins.breakers.redis_circuits import RedisCircuits

        return RedisCircuits
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
