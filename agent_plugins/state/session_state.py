"""The shared state of a session, in three layers, and its plain form that is stored."""

from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from hashlib import sha256
from typing import Any, Self, TypeAlias, cast

from agent_plugins.state.conversation_state import Conversation
from agent_plugins.state.environment_state import Environment
from agent_plugins.state.plain_records import as_mapping
from agent_plugins.state.task_state import Task

REMEMBERED_OPERATIONS = 200
"""How many operation ids a state remembers: an operation that is repeated within them is not applied again."""
REMEMBERED_WRITERS = 50
"""For how many writers a state remembers the last operation, to recognise a write whose reply was lost."""

_DIGEST_BYTES = 8
_LAYERS = ("conversation", "task", "environment", "operations", "writers", "origin")


@dataclass(frozen=True)
class SessionState:
    """The conversation, the current task if there is one, and the environment.

    ``origin`` is given to a state by its first change and stays: two states of one session with different origins did
    not follow from each other. One was erased or has expired, and the other began after it.
    """

    conversation: Conversation = field(default_factory=Conversation)
    task: Task | None = None
    environment: Environment = field(default_factory=Environment)
    operations: tuple[str, ...] = ()
    writers: Mapping[str, int] = field(default_factory=dict[str, int])
    origin: str = ""
    more: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def has_applied(self, operation_id: str) -> bool:
        """Return whether the operation is among the remembered ones."""
        return _digest(operation_id) in self.operations

    def with_applied(self, operation_id: str) -> "SessionState":
        """Return the state with the operation among the remembered ones."""
        digests = (*self.operations, _digest(operation_id))[-REMEMBERED_OPERATIONS:]
        return replace(self, operations=digests)

    def last_number_of(self, writer: str) -> int:
        """Return the number of the last operation of a writer, which numbers its operations in order; 0 if none."""
        return self.writers.get(writer, 0)

    def written_by(self, writer: str, number: int) -> "SessionState":
        """Return the state with this number as the last one of the writer."""
        others = [(name, last) for name, last in self.writers.items() if name != writer]
        writers = dict([*others, (writer, number)][-REMEMBERED_WRITERS:])
        return replace(self, writers=writers, origin=self.origin or f"{writer}/{number}")

    def to_plain(self) -> dict[str, Any]:
        """Return the state as plain data."""
        return {
            **self.more,
            "conversation": self.conversation.to_plain(),
            "task": None if self.task is None else self.task.to_plain(),
            "environment": self.environment.to_plain(),
            "operations": list(self.operations),
            "writers": dict(self.writers),
            "origin": self.origin,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return what the agents share as plain data, with every field, for a page, a log or another system."""
        conversation, task = self.conversation, self.task
        asked = conversation.next_question()
        return {
            "conversation": {
                **_fields(conversation),
                "slots": {name: _fields(slot) for name, slot in conversation.slots.items()},
                "clarification": conversation.clarification and _fields(conversation.clarification),
                "handoff": conversation.handoff and _fields(conversation.handoff),
                "missing_slots": conversation.open_slots(),
                "next_question": None if asked is None else asked.question,
            },
            "task": task
            and {
                **_fields(task),
                "steps": {name: _fields(step) for name, step in task.steps.items()},
                "transient": task.transient,
            },
            "environment": _fields(self.environment),
        }

    @classmethod
    def from_plain(cls, value: object) -> Self:
        """Return the state from plain data, also that of a later release; None is an empty state.

        Raises:
            ValueError: It is not a session state.
        """
        plain = as_mapping(value)
        if value is not None and plain is not value:
            raise ValueError("not the state of a session")
        task = as_mapping(plain.get("task"))
        try:
            return cls(
                conversation=Conversation.from_plain(as_mapping(plain.get("conversation"))),
                task=Task.from_plain(task) if task else None,
                environment=Environment.from_plain(as_mapping(plain.get("environment"))),
                operations=tuple(plain.get("operations") or ()),
                writers=as_mapping(plain.get("writers")),
                origin=str(plain.get("origin") or ""),
                more={name: layer for name, layer in plain.items() if name not in _LAYERS},
            )
        except TypeError as error:  # a required field is missing
            raise ValueError("not the state of a session") from error


Change: TypeAlias = Callable[[SessionState], SessionState]
"""A change of the state. It is applied to the newest state, and again after a conflict with another writer: it must be
a pure function, and may be called from any thread."""


def _fields(record: Any) -> dict[str, Any]:
    said = {each.name: getattr(record, each.name) for each in fields(record) if each.name != "more"}
    return {**record.more, **{name: _plain(value) for name, value in said.items()}}


def _plain(value: Any) -> Any:
    if isinstance(value, StrEnum):
        return value.value
    return list(cast("tuple[Any, ...]", value)) if isinstance(value, tuple) else value


def _digest(operation_id: str) -> str:
    """Return a short hash of the id: ids of frameworks may be long, and all of them are written with every change."""
    digest = sha256(operation_id.encode(errors="surrogatepass")).digest()[:_DIGEST_BYTES]
    return urlsafe_b64encode(digest).decode().rstrip("=")
