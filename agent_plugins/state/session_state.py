"""One state for all agents of a session, in three layers, and how it is written down."""

from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, Self, TypeAlias

from agent_plugins.state.conversation_state import Conversation
from agent_plugins.state.environment_state import Environment
from agent_plugins.state.plain_records import mapping
from agent_plugins.state.task_state import Task

REMEMBERED_OPERATIONS = 200
"""A state recognises its last so many operations that a caller gave an id: a repeated one is not applied again."""
REMEMBERED_WRITERS = 50
"""… and the last operation of each of so many writers: a lost reply is recognised, however much others wrote since."""

_MARK_BYTES = 8
_LAYERS = ("conversation", "task", "environment", "operations", "writers")


@dataclass(frozen=True)
class SessionState:
    """The conversation, the task under way if there is one, and the environment."""

    conversation: Conversation = field(default_factory=Conversation)
    task: Task | None = None
    environment: Environment = field(default_factory=Environment)
    operations: tuple[str, ...] = ()
    writers: Mapping[str, int] = field(default_factory=dict[str, int])
    more: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def has_seen(self, operation_id: str) -> bool:
        """Tell whether the operation was applied, as far as is remembered."""
        return _mark(operation_id) in self.operations

    def having_seen(self, operation_id: str) -> "SessionState":
        """Return the state, remembering the operation."""
        marks = (*self.operations, _mark(operation_id))[-REMEMBERED_OPERATIONS:]
        return replace(self, operations=marks)

    def last_of(self, writer: str) -> int:
        """Return the number of the last operation of a writer, who numbers them in the order they come; 0 if none."""
        return self.writers.get(writer, 0)

    def written_by(self, writer: str, number: int) -> "SessionState":
        """Return the state, remembering how far the writer has got."""
        others = [(name, last) for name, last in self.writers.items() if name != writer]
        return replace(self, writers=dict([*others, (writer, number)][-REMEMBERED_WRITERS:]))

    def to_plain(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            **self.more,
            "conversation": self.conversation.to_plain(),
            "task": None if self.task is None else self.task.to_plain(),
            "environment": self.environment.to_plain(),
            "operations": list(self.operations),
            "writers": dict(self.writers),
        }

    @classmethod
    def from_plain(cls, value: object) -> Self:
        """Return the state that was written down, also by a later release; nothing is a state too.

        Raises:
            ValueError: It is something else.
        """
        plain = mapping(value)
        if value is not None and plain is not value:
            raise ValueError("not the state of a session")
        task = mapping(plain.get("task"))
        try:
            return cls(
                conversation=Conversation.from_plain(mapping(plain.get("conversation"))),
                task=Task.from_plain(task) if task else None,
                environment=Environment.from_plain(mapping(plain.get("environment"))),
                operations=tuple(plain.get("operations") or ()),
                writers=mapping(plain.get("writers")),
                more={name: layer for name, layer in plain.items() if name not in _LAYERS},
            )
        except TypeError as error:  # a field that has to be there is not
            raise ValueError("not the state of a session") from error


Change: TypeAlias = Callable[[SessionState], SessionState]
"""What is done to a state. It is applied to the newest one, again if somebody else wrote first: it must do nothing
but return another state, and may be called from any thread."""


def _mark(operation_id: str) -> str:
    """Return the operation's id, short: ids of frameworks may be long, and all of them are written at every change."""
    digest = sha256(operation_id.encode(errors="surrogatepass")).digest()[:_MARK_BYTES]
    return urlsafe_b64encode(digest).decode().rstrip("=")
