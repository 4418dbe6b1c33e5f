"""An export as a page for people, made from its lines one by one."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from mcp_memory_server.domain.kernel.ulids import is_ulid, moment_of
from mcp_memory_server.schema.exported.line_values import parsed_line

_TITLES = {
    "fact": "What is known",
    "candidate": "What may be true",
    "past": "What was true earlier",
    "preference": "Preferences",
    "note": "Feedback and patterns",
    "summary": "Summaries of conversations",
    "active_chat": "Chats",
    "past_chat": "Chats",
}
_UNTOLD = "Without a topic"


class MarkdownPage:
    """Turns lines into Markdown. Memories are held back until they are complete; conversations are not."""

    def __init__(self) -> None:
        self._sections: dict[str, dict[str, list[str]]] = {}
        self._session: str | None = None
        self._has_written_memories = False
        self._forgotten = 0

    def text_for(self, line: str) -> str:
        """Return what this line adds to the page now."""
        entry = parsed_line(line)
        if "format" in entry:
            return f"# Memory of {_inline(str(entry.get('user', '')))}\n\nExported {_day(entry['exported_at'])}.\n"
        kind, memory = str(entry["kind"]), entry["memory"]
        if kind == "turn":
            return self._memories() + self._turn(str(entry["session"]), memory, str(entry.get("key", "")))
        if kind == "forgotten":
            self._forgotten += 1
        elif kind in _TITLES:
            self._add(_TITLES[kind], *_sentence(kind, str(entry["key"]), memory))
        return ""

    def end(self) -> str:
        """Return the end of the page."""
        return self._memories()

    def _add(self, title: str, group: str, sentence: str) -> None:
        self._sections.setdefault(title, defaultdict(list))[group].append(sentence)

    def _memories(self) -> str:
        if self._has_written_memories:
            return ""
        self._has_written_memories = True
        text = ""
        for title in dict.fromkeys(_TITLES.values()):
            if groups := self._sections.pop(title, None):
                text += f"\n## {title}\n"
                for group in sorted(groups, key=lambda group: (group == _UNTOLD, group)):
                    heading = f"\n### {group}\n" if len(groups) > 1 or group not in ("", _UNTOLD) else ""
                    text += heading + "\n" + "".join(f"- {sentence}\n" for sentence in groups[group])
        if self._forgotten:
            text += f"\nForgotten on request, and not kept as text: {self._forgotten:,}.\n"
        return text

    def _turn(self, session: str, memory: Mapping[str, Any], turn_id: str) -> str:
        title = f"\n## Conversation {_inline(session)}\n" if session != self._session else ""
        self._session = session
        who = _inline(str(memory.get("speaker") or memory.get("role") or "somebody"))
        when = f" {moment_of(turn_id):%Y-%m-%d %H:%M} UTC" if is_ulid(turn_id) else ""
        said = "\n".join(f"> {line}" for line in str(memory.get("content", "")).splitlines()) or "> "
        return f"{title}\n**{who}**{when}\n\n{said}\n"


def _sentence(kind: str, key: str, memory: Mapping[str, Any]) -> tuple[str, str]:
    """Return the group of a memory and its sentence."""
    if kind in ("fact", "candidate", "past"):
        times = [f"{word} {_day(memory[name])}" for name, word in _TIMES if memory.get(name)]
        if kind == "past" and memory.get("valid_to"):
            times.append(f"replaced or ended {_day(memory['valid_to'])}")
        source = "" if memory.get("source") in (None, "user_stated") else f"{str(memory['source']).replace('_', ' ')}"
        beside = ", ".join(filter(None, [*times, source]))
        return str(memory.get("topic") or _UNTOLD), _inline(str(memory.get("text", ""))) + (
            f" ({beside})" if beside else ""
        )
    if kind == "preference":
        return "", f"{_inline(str(memory.get('key', key)))}: {_inline(str(memory.get('value', '')))}"
    if kind == "note":
        return key.partition("#")[0], f"{_inline(str(memory.get('text', '')))} (noted {_day(memory.get('noted_at'))})"
    if kind == "summary":
        said = "; ".join(_inline(str(one)) for name in ("discussed", "unresolved") for one in memory.get(name) or ())
        return "", f"{_day(memory.get('since'))} to {_day(memory.get('until'))}: {said or 'nothing worth keeping'}"
    title = f": {_inline(str(memory['title']))}" if memory.get("title") else ""
    ended = f", ended {_day(memory['deleted_at'])}" if memory.get("deleted_at") else ""
    return "", f"{_inline(key.partition('#')[0])}{title}, begun {_day(memory.get('created_at'))}{ended}"


_TIMES = (("since", "since"), ("until", "until"), ("valid_from", "learned"))


def _day(moment: object) -> str:
    return str(moment or "at an unknown time")[:10] if moment else "at an unknown time"


def _inline(text: str) -> str:
    """Return the text in one line that Markdown shows as it is."""
    escaped = "".join(f"\\{sign}" if sign in "\\`*_[]<>#|" else sign for sign in text)
    return " ".join(escaped.split())
