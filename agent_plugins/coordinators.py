"""One coordinator a session, for all agents of a process."""

from collections import OrderedDict
from threading import Lock

from agent_plugins.saving import MemorySource
from agent_plugins.state_coordinator import StateCoordinator
from mcp_memory_server import Memory, Scope

MOST_SESSIONS = 1000


class Coordinators:
    """Gives out the coordinator of a session, always the same one while it is in use. Safe to use from any thread."""

    def __init__(self, memory: Memory | MemorySource, *, most: int = MOST_SESSIONS) -> None:
        self._memory = memory
        self._most = most
        self._lock = Lock()
        self._known: OrderedDict[Scope, StateCoordinator] = OrderedDict()

    def of(self, scope: Scope) -> StateCoordinator:
        """Return the coordinator of this session.

        Raises:
            InvalidRequestError: The scope names no session.
        """
        with self._lock:
            coordinator = self._known.get(scope) or StateCoordinator(self._memory, scope)
            self._known[scope] = coordinator
            self._known.move_to_end(scope)
            self._make_room()
            return coordinator

    def _make_room(self) -> None:
        """Let go of those that were not used for longest; what they know is in the session memory."""
        for scope in list(self._known)[: max(len(self._known) - self._most, 0)]:
            if not self._known[scope].is_in_use:
                del self._known[scope]
