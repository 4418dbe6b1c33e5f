"""One token budget for the shared state and the memory: the memory gets what the state does not use."""

from collections.abc import Callable

from agent_plugins.argument_checks import check_type
from agent_plugins.state.state_coordinator import StateCoordinator
from mcp_memory_server import InvalidRequestError, count_tokens

STATE_SHARE = 3
"""The state gets at most a third of the budget."""
LEAST_FOR_MEMORY = 50
"""`memory.context` refuses a smaller budget, which holds nothing useful."""


def split_budget(
    coordinator: StateCoordinator,
    max_tokens: int,
    *,
    agent: str | None = None,
    count: Callable[[str], int] = count_tokens,
) -> tuple[str, int]:
    """Return the state as text for an agent, and how many tokens that leaves for the memory.

    Raises:
        InvalidRequestError: The budget has no room for both.
    """
    check_type("coordinator", coordinator, StateCoordinator, "a StateCoordinator")
    check_type("max_tokens", max_tokens, int, "a number such as 600")
    if max_tokens < LEAST_FOR_MEMORY:
        raise InvalidRequestError(f"state and memory need at least {LEAST_FOR_MEMORY} tokens, got {max_tokens}")
    most = min(max_tokens // STATE_SHARE, max_tokens - LEAST_FOR_MEMORY)
    text = coordinator.to_agent_context(most, agent=agent)
    return text, max_tokens - (count(text) if text else 0)
