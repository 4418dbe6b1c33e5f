"""The services of a memory, in one value."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.services.context.context import Context
from mcp_memory_server.services.facts.facts import Facts
from mcp_memory_server.services.facts.notes import Notes
from mcp_memory_server.services.facts.preferences import Preferences
from mcp_memory_server.services.recall.recall import Recall
from mcp_memory_server.services.summaries.summaries import Summaries
from mcp_memory_server.services.users.archive import Archive
from mcp_memory_server.services.users.erasure import Erasure
from mcp_memory_server.services.users.imports import Imports

if TYPE_CHECKING:
    from mcp_memory_server.ports.session_cache import SessionCache

    # Imported when first used: a client that only remembers facts does not wait for them.
    from mcp_memory_server.services.conversations.chats import Chats
    from mcp_memory_server.services.conversations.conversations import Conversations
    from mcp_memory_server.services.conversations.redrive import Redrive
    from mcp_memory_server.services.conversations.session_list import SessionList
    from mcp_memory_server.services.conversations.tool_log import ToolLog
    from mcp_memory_server.services.kernel.spending import Spending
    from mcp_memory_server.services.sessions.shared_states import SharedStates
    from mcp_memory_server.services.sessions.snapshots import Snapshots
    from mcp_memory_server.services.summaries.resumption import Resumption
    from mcp_memory_server.services.summaries.session_finalizer import SessionFinalizer


@dataclass(frozen=True)
class SessionServices:
    """The services that conversations need."""

    conversations: "Conversations"
    chats: "Chats"
    states: "SharedStates"
    tool_log: "ToolLog"
    snapshots: "Snapshots"
    redrive: "Redrive"
    finalizer: "SessionFinalizer"
    resumption: "Resumption"
    spending: "Spending | None" = None
    cache: "SessionCache | None" = None


@dataclass(frozen=True)
class Memory:
    """The services over one table. Every call names the `Scope` of its owner."""

    facts: Facts
    preferences: Preferences
    notes: Notes
    recall: Recall
    context: Context
    summaries: Summaries
    erasure: Erasure
    archive: Archive
    imports: Imports
    table: ItemTable
    sessions: Callable[[], SessionServices] = field(repr=False)

    @property
    def conversations(self) -> "Conversations":
        """Turns of sessions: append, load, page back, end."""
        return self.sessions().conversations

    @property
    def session_list(self) -> "SessionList":
        """The sessions of a user, each with its statistics."""
        from mcp_memory_server.services.conversations.session_list import SessionList

        return SessionList(self.table)

    @property
    def chats(self) -> "Chats":
        """The active chat of a user and an agent, and past ones."""
        return self.sessions().chats

    @property
    def states(self) -> "SharedStates":
        """The state that the agents of a session share."""
        return self.sessions().states

    @property
    def tool_log(self) -> "ToolLog":
        """The log of tool calls."""
        return self.sessions().tool_log

    @property
    def snapshots(self) -> "Snapshots":
        """Opaque values that a framework stores for a user."""
        return self.sessions().snapshots

    @property
    def redrive(self) -> "Redrive":
        """Dead letters, and the length of the outbox."""
        return self.sessions().redrive

    @property
    def finalizer(self) -> "SessionFinalizer":
        """What is done for sessions in the background: summarizing those that are over, folding old summaries."""
        return self.sessions().finalizer

    @property
    def resumption(self) -> "Resumption":
        """What was said so far in a conversation, for an agent that continues it."""
        return self.sessions().resumption

    @property
    def spending(self) -> "Spending | None":
        """The budget for models; None without a model."""
        return self.sessions().spending
