"""Edit single members of a JSON document of a person: comments, order and layout of everything else stay.

Editors allow comments and trailing commas in their settings, so both are understood. Decoding and encoding the whole
document would lose them.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

DEFAULT_INDENT = "  "

_TOKEN = re.compile(
    r"""(?P<skip>\s+|//[^\n]*|/\*.*?\*/|\ufeff)|(?P<string>"(?:[^"\\]|\\.)*")|(?P<sign>[{}\[\]:,])|(?P<word>[^\s{}\[\]:,"/]+)""",
    re.DOTALL,
)
_REST_OF_LINE = re.compile(r"[ \t]*(?://[^\n]*|/\*[^\n]*?\*/[ \t]*)(?=\n)")


class NotJsonError(ValueError):
    """The text is not JSON, not even with comments and trailing commas."""


@dataclass
class _Node:
    """A value and where it stands. Only an object has members."""

    start: int
    end: int = 0
    members: dict[str, "_Member"] = field(default_factory=dict[str, "_Member"])
    is_object: bool = False


@dataclass
class _Member:
    start: int
    value: _Node
    comma: int | None = None
    """Where the comma behind it begins."""


def decoded(text: str) -> Any:
    """Return the value of a JSON text that may have comments and trailing commas.

    Raises:
        NotJsonError: The text is something else.
    """
    parts: list[str] = []
    for kind, part, _ in _tokens(text):
        if parts and part in "}]" and kind == "sign" and parts[-1] == ",":
            parts.pop()
        parts.append(part)
    try:
        return json.loads(" ".join(parts))
    except json.JSONDecodeError as error:
        raise NotJsonError(error.msg) from None


def with_member(text: str, path: Sequence[str], value: Any) -> str:
    """Return the text with the member at the path set to the value; missing objects on the way are added.

    Raises:
        NotJsonError: The text is not JSON, or something on the path is not an object.
    """
    if not text.strip():
        text = "{}\n"
    node, depth = _root(text), 0
    while depth < len(path) - 1 and path[depth] in node.members:
        node, depth = node.members[path[depth]].value, depth + 1
        _require_object(node, path[:depth])
    for missing in reversed(path[depth + 1 :]):
        value = {missing: value}
    unit = _indent_unit(text)
    indent = _indent_at(text, node.start) + unit
    encoded = json.dumps(value, ensure_ascii=False, indent=unit).replace("\n", f"\n{indent}")
    present = node.members.get(path[depth])
    if present is not None:
        return text[: present.value.start] + encoded + text[present.value.end :]
    added = f"\n{indent}{json.dumps(path[depth], ensure_ascii=False)}: {encoded}"
    if not node.members:
        closing = "" if "\n" in text[node.start : node.end] else f"\n{_indent_at(text, node.start)}"
        return text[: node.start + 1] + added + closing + text[node.start + 1 :]
    last = list(node.members.values())[-1]
    if last.comma is not None:
        line_end = _after_comment(text, last.comma + 1)
        return text[:line_end] + added + "," + text[line_end:]
    line_end = _after_comment(text, last.value.end)
    return text[: last.value.end] + "," + text[last.value.end : line_end] + added + text[line_end:]


def without_member(text: str, path: Sequence[str]) -> str:
    """Return the text without the member at the path; the same text if there is none.

    Raises:
        NotJsonError: The text is not JSON.
    """
    node = _root(text)
    for name in path[:-1]:
        if name not in node.members:
            return text
        node = node.members[name].value
    removed = node.members.get(path[-1])
    if removed is None:
        return text
    members = list(node.members.values())
    before = members[: members.index(removed)]
    start = _line_start(text, removed.start)
    if removed.comma is not None:
        return text[:start] + text[removed.comma + 1 :]
    if before and before[-1].comma is not None:
        comma = before[-1].comma
        return text[:comma] + text[comma + 1 : start] + text[removed.value.end :]
    return text[:start] + text[removed.value.end :]


def _tokens(text: str) -> list[tuple[str, str, int]]:
    """Return kind, text and position of what is neither white space nor comment."""
    tokens: list[tuple[str, str, int]] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            line = text.count("\n", 0, position) + 1
            raise NotJsonError(f"line {line} cannot be read")
        if match.lastgroup != "skip":
            tokens.append((str(match.lastgroup), match[0], position))
        position = match.end()
    return tokens


def _root(text: str) -> _Node:
    decoded(text)  # afterwards the tokens are known to be balanced
    tokens = _tokens(text)
    root, _ = _node(tokens, 0)
    _require_object(root, ())
    return root


def _node(tokens: Sequence[tuple[str, str, int]], at: int) -> tuple[_Node, int]:
    """Return the value that begins at a token, and the index of the token behind it."""
    _, part, start = tokens[at]
    node = _Node(start, start + len(part), is_object=part == "{")
    at += 1
    if part not in ("{", "["):
        return node, at
    while tokens[at][1] not in ("}", "]") or tokens[at][0] != "sign":
        name, member_start = "", tokens[at][2]
        if node.is_object:
            name, at = json.loads(tokens[at][1]), at + 2  # the name and the colon
        value, at = _node(tokens, at)
        member = _Member(member_start, value)
        if tokens[at][1] == ",":
            member.comma, at = tokens[at][2], at + 1
        if node.is_object:
            node.members[name] = member
    node.end = tokens[at][2] + 1
    return node, at + 1


def _require_object(node: _Node, path: Sequence[str]) -> None:
    if not node.is_object:
        raise NotJsonError(f"{'.'.join(path) or 'the document'} is not an object")


def _indent_unit(text: str) -> str:
    found = re.search(r"^[{].*?\n([ \t]+)\"", text, re.DOTALL | re.MULTILINE)
    return found[1] if found else DEFAULT_INDENT


def _indent_at(text: str, position: int) -> str:
    line = text[text.rfind("\n", 0, position) + 1 : position]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _after_comment(text: str, position: int) -> int:
    """Return the end of the line if only a comment follows; it belongs to what stands before it."""
    comment = _REST_OF_LINE.match(text, position)
    return comment.end() if comment else position


def _line_start(text: str, position: int) -> int:
    """Return where the line of the position begins, its line break included, if nothing else stands before it."""
    start = text.rfind("\n", 0, position)
    return start if start >= 0 and not text[start:position].strip() else position
