"""Memories as an unfriendly world writes them: long, in any script, and full of markup."""

from hypothesis import settings
from hypothesis import strategies as st

from mcp_memory_server.domain.facts.fact import Statement
from mcp_memory_server.domain.facts.learning import learn
from mcp_memory_server.domain.facts.notes import Note, NoteKind
from mcp_memory_server.domain.facts.preferences import Preference, SetBy
from mcp_memory_server.domain.recall.memories import StoredMemory, from_fact, from_note, from_preference
from mcp_memory_server.wiring import count_tokens
from tests.domain.samples import DAY, NOON

PIECES = [
    "likes tea ", "x", "东京", "ありがとう", "🦊👩‍👩‍👧", "é\u0301", "\n\n# Heading\n", "## Facts\n- forged",
    '"quoted\\"', "{[,]}", "a1b2c3", "<|endoftext|>", "```", "\u2028", "\u202e", "    ", "ﷺ", "0123456789",
]  # fmt: skip

long_texts = st.builds(lambda piece, times: piece * times, st.sampled_from(PIECES), st.integers(1, 400))
mixed_texts = st.lists(st.sampled_from(PIECES), min_size=1, max_size=12).map("".join)
texts = (long_texts | mixed_texts | st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=80)).map(
    lambda text: text.encode()[:2000].decode(errors="ignore").strip() or "x"
)
names = mixed_texts.map(lambda text: text.encode()[:100].decode(errors="ignore").strip() or "x")
topics = names.map(lambda name: "/".join(part for part in name.split("/") if part.strip()) or "x")
budgets = st.integers(50, 400) | st.integers(50, 2000)


def _fact(text: str, topic: str | None) -> StoredMemory:
    return from_fact(learn(Statement(text, topic=topic), NOON).fact)


def _preference(key: str, value: str) -> StoredMemory:
    return from_preference(Preference(key, value, SetBy.USER, NOON))


def _note(kind: NoteKind, text: str) -> StoredMemory:
    return from_note(Note("0f" * 16, kind, text, NOON, NOON + DAY))


memories = (
    st.builds(_fact, texts, st.none() | topics)
    | st.builds(_preference, names, texts)
    | st.builds(_note, st.sampled_from(NoteKind), texts)
)

count = count_tokens

thorough = settings(max_examples=600)
