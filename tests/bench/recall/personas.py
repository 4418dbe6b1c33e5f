"""The short facts of the recall benchmark: personas with about fifty saved facts each, and questions about them."""

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mcp_memory_server.domain.recall.documents import Document
from tests.bench.recall.stores import Question, Store, store_from

PERSONAL = "personal"
NORA, NORA_FILE = "nora", Path(__file__).with_name("nora.jsonl")
"""Our own persona: the same forty facts and questions in five languages."""
ENGLISH = "English"
LANGUAGES = {f"{PERSONAL}/helmut": "German", f"{PERSONAL}/haruka": "Japanese"}
"""Whose facts are in another language than English. Their questions are half in English."""
ENGLISH_WORDS = frozenset(
    ["a", "any", "could", "did", "does", "her", "how", "me", "my", "should", "the", "to", "what", "which", "why"]
)
NO_ANSWER = "none"
"""The category of questions that are sensible, and that nothing stored answers."""


@dataclass(frozen=True)
class Persona:
    """One user: saved facts and questions. ``asked_in`` is the language of each question, by its id."""

    name: str
    language: str
    facts: Sequence[Document]
    questions: Sequence[Question]
    asked_in: dict[str, str]

    def without_topics(self) -> "Persona":
        return replace(self, facts=[replace(fact, topic=None) for fact in self.facts])

    def around(self, question: Question, size: int) -> list[Document]:
        """Return the evidence of a question among so many facts, always the same ones, in the order of time."""
        others = [fact.id for fact in self.facts if fact.id not in question.evidence]
        draw = random.Random(f"{self.name} {question.id}")
        chosen = question.evidence.union(draw.sample(others, max(0, size - len(question.evidence))))
        return [fact for fact in self.facts if fact.id in chosen]


def read_personas(data: Path) -> list[Persona]:
    """Return the personas in a folder of recall data.

    Raises:
        SystemExit: The data is not there.
    """
    file = data / f"{PERSONAL}.jsonl"
    if not file.exists():
        raise SystemExit(f"{file} is missing: give the folder of the recall data with --data")
    return [_persona(json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()]


def read_nora() -> list[Persona]:
    """Return our own persona once in each language, asked in that language."""
    rows = [json.loads(line) for line in NORA_FILE.read_text(encoding="utf-8").splitlines()]
    return [_nora(rows, language) for language in rows[0]["texts"]]


def answerable_stores(personas: Sequence[Persona]) -> list[Store]:
    """Return the personas as stores for the ranking alone, without the questions that nothing answers."""
    return [
        Store(PERSONAL, persona.facts, [question for question in persona.questions if question.evidence])
        for persona in personas
    ]


def _nora(rows: Sequence[dict[str, Any]], language: str) -> Persona:
    memories = [
        {"id": row["id"], "topic": row["topic"], "text": row["texts"][language], "date": f"2026-10-{1 + place // 2:02}"}
        for place, row in enumerate(rows)
    ]
    questions = [
        row | {"id": f"{row['id']}?", "question": row["questions"][language], "evidence": [row["id"]]} for row in rows
    ]
    store = store_from({"source": NORA, "memories": memories, "questions": questions})
    asked_in = {question.id: language for question in store.questions}
    return Persona(f"{NORA}-{language.lower()}", language, store.documents, store.questions, asked_in)


def _persona(row: dict[str, Any]) -> Persona:
    store = store_from(row)
    language = LANGUAGES.get(row["corpus"], ENGLISH)
    asked_in = {question.id: ENGLISH if _is_english(question.text) else language for question in store.questions}
    return Persona(row["corpus"].partition("/")[2], language, store.documents, store.questions, asked_in)


def _is_english(question: str) -> bool:
    """Return whether a question is in English and not in German or Japanese: a key word is if it has no capital."""
    return question.isascii() and (question[0].islower() or not ENGLISH_WORDS.isdisjoint(question.lower().split()))
