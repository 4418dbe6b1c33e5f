"""A model that answers with the lines of a script, so that the examples run offline. Any Strands model can replace it.

A line of the script is a text, a call of a tool, or a function that gets what the model was sent and returns either:
so an answer can depend on the prompt block.
"""

import json
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeAlias

from strands.models.model import Model
from strands.types.content import Messages
from strands.types.streaming import StreamEvent


@dataclass(frozen=True)
class Call:
    """A tool that the model calls."""

    tool: str
    arguments: dict[str, Any]


def call(tool: str, **arguments: Any) -> Call:
    """Return a line of a script that calls a tool."""
    return Call(tool, arguments)


@dataclass(frozen=True)
class Seen:
    """What the model was sent: the whole conversation, and whatever stands at its end."""

    messages: Messages

    @property
    def text(self) -> str:
        """Everything in the last message, answers of tools included."""
        return "\n".join(_texts(self.messages[-1]["content"]))

    def line(self, words: str) -> str:
        """Return the first line of the last message that has these words, without the dash before it."""
        lines = (line.removeprefix("- ") for line in self.text.splitlines())
        return next((line for line in lines if words in line), "nothing about that")


Line: TypeAlias = "str | Call | Sequence[Call] | Callable[[Seen], str | Call | Sequence[Call]]"


class ScriptedModel(Model):
    """Says one line of its script at each call, and the last one again when there are no more."""

    def __init__(self, *script: Line) -> None:
        self._script = list(script)
        self._lock = Lock()
        self._calls = 0
        self.seen: list[Seen] = []
        """What it was sent, call by call."""

    async def stream(self, messages: Messages, *_: Any, **__: Any) -> AsyncIterable[StreamEvent]:
        """Say the next line."""
        seen = Seen(messages)
        with self._lock:
            self.seen.append(seen)
            number, self._calls = self._calls, self._calls + 1
        line = self._script[min(number, len(self._script) - 1)]
        said = line(seen) if callable(line) else line
        for event in _events(said, number):
            yield event

    async def structured_output(self, *_: Any, **__: Any) -> AsyncGenerator[dict[str, Any], None]:
        """A script has no structured output."""
        raise NotImplementedError
        yield {}

    def update_config(self, **_: Any) -> None:
        """There is nothing to set."""

    def get_config(self) -> dict[str, Any]:
        """There is nothing to set."""
        return {}


def _events(said: str | Call | Sequence[Call], number: int) -> Iterable[Any]:
    yield {"messageStart": {"role": "assistant"}}
    if isinstance(said, str):
        yield {"contentBlockStart": {"start": {}}}
        yield {"contentBlockDelta": {"delta": {"text": said}}}
        yield {"contentBlockStop": {}}
    calls = [] if isinstance(said, str) else [said] if isinstance(said, Call) else said
    for place, each in enumerate(calls):
        yield {
            "contentBlockStart": {
                "start": {"toolUse": {"name": each.tool, "toolUseId": f"{id(said)}-{number}-{place}"}}
            }
        }
        yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(each.arguments)}}}}
        yield {"contentBlockStop": {}}
    yield {"messageStop": {"stopReason": "tool_use" if calls else "end_turn"}}


def _texts(blocks: Sequence[Any]) -> Iterable[str]:
    for block in blocks:
        if "text" in block:
            yield block["text"]
        elif "json" in block:
            yield json.dumps(block["json"])
        elif "toolResult" in block:
            yield from _texts(block["toolResult"]["content"])
