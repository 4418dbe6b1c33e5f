"""Memory: everything that can be done with it, in one value."""

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

if TYPE_CHECKING:
    # Loaded when they are first used: a client that only remembers should not wait for them to start.
    from mcp_memory_server.services.conversations.chats import Chats
    from mcp_memory_server.services.conversations.conversations import Conversations
    from mcp_memory_server.services.conversations.redrive import Redrive
    from mcp_memory_server.services.conversations.tool_log import ToolLog
    from mcp_memory_server.services.kernel.spending import Spending
    from mcp_memory_server.services.sessions.shared_states import SharedStates
    from mcp_memory_server.services.sessions.snapshots import Snapshots
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
    spending: "Spending | None" = None


@dataclass(frozen=True)
class Memory:
    """The services over one table. Every call names the `Scope` whose memory it is about."""

    facts: Facts
    preferences: Preferences
    notes: Notes
    recall: Recall
    context: Context
    summaries: Summaries
    erasure: Erasure
    archive: Archive
    table: ItemTable
    sessions: Callable[[], SessionServices] = field(repr=False)

    @property
    def conversations(self) -> "Conversations":
        """Turns of sessions: append, load, page back, end."""
        return self.sessions().conversations

    @property
    def chats(self) -> "Chats":
        """The chat that a user and an agent have going, and those before."""
        return self.sessions().chats

    @property
    def states(self) -> "SharedStates":
        """What the agents of a session share."""
        return self.sessions().states

    @property
    def tool_log(self) -> "ToolLog":
        """Which tools were called, and how it went."""
        return self.sessions().tool_log

    @property
    def snapshots(self) -> "Snapshots":
        """Whole values that a framework keeps for a user."""
        return self.sessions().snapshots

    @property
    def redrive(self) -> "Redrive":
        """Turns that the table would not take, and what is on its way to it."""
        return self.sessions().redrive

    @property
    def finalizer(self) -> "SessionFinalizer":
        """What is done for sessions in the background: summarizing those that are over, folding old summaries."""
        return self.sessions().finalizer

    @property
    def spending(self) -> "Spending | None":
        """What models cost; None where none is used."""
        return self.sessions().spending
