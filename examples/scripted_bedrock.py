"""A client of Bedrock that answers with the lines of a script, so that the Agent Squad example runs offline.

A line is a text, a pair of a tool and its arguments, or a function of what was sent that returns either.
"""

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

Line: TypeAlias = "str | tuple[str, dict[str, Any]] | Callable[[str], str | tuple[str, dict[str, Any]]]"


class ScriptedBedrock:
    """Answers `converse` with the lines of its script, one a call."""

    def __init__(self, *script: Line) -> None:
        self._script = list(script)
        self.seen: list[str] = []
        self.meta = SimpleNamespace(events=SimpleNamespace(register=lambda *_: None))

    def converse(self, messages: list[Any], **_: Any) -> dict[str, Any]:
        """Say the next line, the last one again when there are no more."""
        sent = "\n".join(_texts(messages[-1]["content"]))
        line = self._script[min(len(self.seen), len(self._script) - 1)]
        self.seen.append(sent)
        said = line(sent) if callable(line) else line
        if isinstance(said, str):
            content: dict[str, Any] = {"text": said}
        else:
            content = {"toolUse": {"toolUseId": f"call-{len(self.seen)}", "name": said[0], "input": said[1]}}
        return {"output": {"message": {"role": "assistant", "content": [content]}}}


def _texts(blocks: list[Any]) -> list[str]:
    texts: list[str] = []
    for block in blocks:
        texts += [block["text"]] if "text" in block else _texts(block.get("toolResult", {}).get("content", []))
    return texts
