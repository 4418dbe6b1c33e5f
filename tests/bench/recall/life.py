"""A life in three conversations, then questions in a new one: `python -m tests.bench.recall.life`.

What Nadia says is saved by tool calls, as a model makes them, over stdio with the real server. A new server process is
then asked about what is true, was true, is over, is coming, and was forgotten. A question is answered if every wanted
piece is in a reply of 800 tokens, what is true before what was, and nothing that was forgotten.
"""

import argparse
import asyncio
import json
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any

from mcp import Client

from mcp_memory_server import Scope, Settings, open_memory
from mcp_memory_server.adapters.tiktoken.token_counter import count_tokens, load_exact
from tests.bench.figures import Figures, print_figures
from tests.bench.recall.fine_vectors import all_embedded
from tests.bench.recall.recorded import Section, record
from tests.bench.run import USER, ours

LIFE = Path(__file__).with_name("life.json")
MAX_TOKENS = 800
DAY = re.compile(r"\{day([+-]\d+)\}")
"""A date that many days from today: what is upcoming has to be so whenever this runs."""


@dataclass(frozen=True)
class Answered:
    """What came back for one question: what is wrong with it is empty if it is answered."""

    kind: str
    question: str
    wrong: str
    reply: str

    @property
    def tokens(self) -> int:
        return count_tokens(self.reply)


class Saving:
    """Saves a life, one conversation after the other. Memories are known by names until they have an id."""

    def __init__(self, life: Mapping[str, Any], today: date) -> None:
        self._conversations = life["conversations"]
        self._today = today
        self._ids: dict[str, str] = {}
        self.calls = 0
        self.refused_wrongly: list[str] = []

    @property
    def conversations(self) -> int:
        return len(self._conversations)

    async def conversation(self, number: int, client: Client) -> None:
        """Make the calls of one conversation. Arguments that the server does not offer are left out, as models do."""
        schemas = {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}
        for message in self._conversations[number]:
            for call in message["calls"]:
                await self._call(client, schemas[call["tool"]]["properties"], call)

    async def _call(self, client: Client, known: Mapping[str, Any], call: Mapping[str, Any]) -> None:
        given = {name: self._value(name, value, known[name]) for name, value in call.items() if name in known}
        result = await client.call_tool(call["tool"], given)
        self.calls += 1
        if bool(result.is_error) != call.get("refused", False):
            self.refused_wrongly.append(f"{call['tool']} {given}: {result.structured_content}")
        if "as" in call:
            self._ids[call["as"]] = (result.structured_content or {})["id"]

    def _value(self, name: str, value: str, schema: Mapping[str, Any]) -> Any:
        if name == "replaces":
            return [self._ids[value]] if "array" in json.dumps(schema) else self._ids[value]
        if name == "id":
            return self._ids[value]
        return DAY.sub(lambda found: str(self._today + timedelta(days=int(found[1]))), value)


async def answer(client: Client, question: Mapping[str, Any]) -> Answered:
    """Ask one question through its tool, which is recall if none is named."""
    tool = question.get("tool", "recall")
    asked = {"query": question["query"]} if "query" in question else {}
    result = await client.call_tool(tool, {**asked, "max_tokens": MAX_TOKENS})
    reply = result.structured_content or {}
    texts = [memory["text"] for memory in reply["memories"]] if tool == "recall" else [reply["context"]]
    text = json.dumps(reply, ensure_ascii=False, separators=(",", ":"))
    return Answered(question["kind"], asked.get("query", tool), _what_is_wrong(question, texts, text), text)


def _what_is_wrong(question: Mapping[str, Any], texts: Sequence[str], reply: str) -> str:
    missing = [piece for piece in question["wanted"] if not any(piece in text for text in texts)]
    told = [piece for piece in question.get("absent", ()) if piece in reply]
    if missing or told:
        return "; ".join([f"{piece!r} is missing" for piece in missing] + [f"{piece!r} is told" for piece in told])
    places = {piece: next(place for place, text in enumerate(texts) if piece in text) for piece in question["wanted"]}
    for past in question.get("rather_than", ()):
        at = next((place for place, text in enumerate(texts) if past in text), len(texts))
        if at < min(places.values()):
            return f"{past!r} stands before what is true"
    return ""


async def live() -> tuple[Saving, list[Answered]]:
    """Save the life and ask about it, each conversation with a server process of its own."""
    load_exact()
    life = json.loads(LIFE.read_text(encoding="utf-8"))
    saving = Saving(life, datetime.now(UTC).date())
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "memory.db"
        for number in range(saving.conversations):
            async with Client(ours(table)) as client:
                await saving.conversation(number, client)
        await _until_embedded(table)
        async with Client(ours(table)) as client:
            return saving, [await answer(client, question) for question in life["questions"]]


async def _until_embedded(table: Path) -> None:
    """Wait for the vectors that are made in the background: people let hours pass between conversations."""
    async with open_memory(Settings(table=f"sqlite://{table}", user=USER)) as memory:
        await memory.recall.search(Scope(USER), "anything")
        await all_embedded(memory, Scope(USER))


def figures(saving: Saving, answers: Sequence[Answered]) -> Figures:
    """Return one line for each kind of question, and every miss."""
    kinds = list(dict.fromkeys(one.kind for one in answers))
    groups = {kind: [one for one in answers if one.kind == kind] for kind in kinds}
    rows = [
        {
            "": kind,
            "questions": len(group),
            "answered": sum(not one.wrong for one in group),
            "tokens": int(median(one.tokens for one in group)),
        }
        for kind, group in {**groups, "all": list(answers)}.items()
    ]
    misses = [f"missed ({one.kind}): {one.question!r}: {one.wrong}" for one in answers if one.wrong]
    wrongly = [f"saving went wrong: {one}" for one in saving.refused_wrongly]
    return Figures(f"a life saved in {saving.calls} calls, asked by a new process", rows, [*wrongly, *misses])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="renew docs/recall.md and its figures")
    parser.add_argument("--replies", action="store_true", help="print every reply")
    options = parser.parse_args()
    saving, answers = asyncio.run(live())
    if options.replies:
        for one in answers:
            print(f"\n{one.question} ({one.tokens} tokens) {one.wrong}\n  {one.reply}")
    table = figures(saving, answers)
    print_figures(table)
    if options.write:
        record([Section("life", [table]).measured_by("python -m tests.bench.recall.life")])


if __name__ == "__main__":
    main()
