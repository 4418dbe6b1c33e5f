"""The stores and questions of the recall benchmark, as the product sees them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from mcp_memory_server.domain.recall.documents import USER, Document

DEFAULT_DATA = Path(__file__).parents[4] / "shared" / "data" / "recall"
SOURCES = ("locomo", "longmemeval", "beam")
OWN_SET = Path(__file__).with_name("own_set.jsonl")
EXCHANGES = Path(__file__).with_name("exchanges.jsonl")


@dataclass(frozen=True)
class Question:
    """A question with the ids of the documents that answer it."""

    id: str
    category: str
    text: str
    evidence: frozenset[str]
    asked_at: datetime


@dataclass(frozen=True)
class Store:
    """What one user said, and what is asked about it."""

    source: str
    documents: Sequence[Document]
    questions: Sequence[Question]


def read_stores(source: str, data: Path) -> list[Store]:
    """Return the stores of a source.

    Raises:
        SystemExit: The data is not there. It is licensed for measurement only and never part of the repository.
    """
    if source == "own":
        return [own_store()]
    if source == "exchanges":
        return exchange_stores()
    file = data / f"{source}.jsonl"
    if not file.exists():
        raise SystemExit(f"{file} is missing: give the folder of the recall data with --data")
    return [store_from(json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()]


def own_store() -> Store:
    """Return our own store: single facts in five languages, each with one question in the same language."""
    rows = [json.loads(line) for line in OWN_SET.read_text(encoding="utf-8").splitlines()]
    asked = [row | {"id": f"{row['id']}?", "evidence": [row["id"]]} for row in rows]
    return store_from({"source": "own", "memories": [row | {"speaker": USER} for row in rows], "questions": asked})


def exchange_stores() -> list[Store]:
    """Return our own conversations, a store for each language, whose answers stand beside what a question finds.

    They are the reply to a question, further items of a list, or a turn between two that hold the words.
    """
    rows = [json.loads(line) for line in EXCHANGES.read_text(encoding="utf-8").splitlines()]
    languages = dict.fromkeys(row["language"] for row in rows)
    return [_exchange_store([row for row in rows if row["language"] == language]) for language in languages]


def _exchange_store(rows: Sequence[dict[str, Any]]) -> Store:
    memories: list[dict[str, Any]] = []
    for day, row in enumerate(rows, start=1):
        turns = [turn | {"session": row["id"]} for turn in row["turns"]]
        turns += [{"speaker": USER, "text": text, "session": f"{row['id']} {text}"} for text in row["elsewhere"]]
        memories += [
            turn | {"id": f"{row['id']}:{place}", "date": f"2024-05-{day:02}T10:{place:02}"}
            for place, turn in enumerate(turns)
        ]
    asked = [
        row | {"category": row["kind"], "evidence": [f"{row['id']}:{place}" for place in row["evidence"]]}
        for row in rows
    ]
    return store_from({"source": "exchanges", "memories": memories, "questions": asked})


def store_from(row: dict[str, Any]) -> Store:
    """Return the store of one line of the data."""
    documents = [_document(memory) for memory in row["memories"]]
    after = max(document.at for document in documents) + timedelta(days=1)
    return Store(row["source"], documents, [_question(question, after) for question in row["questions"]])


def _document(memory: dict[str, Any]) -> Document:
    session = memory.get("session")
    return Document(
        id=memory["id"],
        text=memory["text"],
        kind="turn" if session is not None else "fact",
        at=_moment(memory["date"]),
        speaker=memory.get("speaker"),
        session=None if session is None else str(session),
        topic=memory.get("topic"),
    )


def _question(question: dict[str, Any], after: datetime) -> Question:
    asked_at = question.get("asked_at")
    return Question(
        question["id"],
        question["category"],
        question["question"],
        frozenset(question["evidence"]),
        _moment(asked_at) if asked_at else after,
    )


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
