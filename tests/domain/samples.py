"""Values that many tests start from."""

from datetime import UTC, datetime, timedelta

from mcp_memory_server.domain.facts.fact import Fact, Permanence, Source, Statement
from mcp_memory_server.domain.facts.learning import learn
from mcp_memory_server.domain.facts.preferences import Preference, SetBy
from mcp_memory_server.domain.recall.memories import StoredMemory, from_fact, from_preference

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
CITY = "personal/location/city"


def fact(
    text: str = "Lives in Bern",
    topic: str | None = CITY,
    *,
    source: Source = Source.USER_STATED,
    confidence: float | None = None,
    permanence: Permanence | None = None,
    at: datetime = NOON,
) -> Fact:
    """Return the fact that a statement becomes when nothing is known."""
    statement = Statement(text, topic=topic, source=source, confidence=confidence, permanence=permanence)
    return learn(statement, at).fact


def inferred(text: str, topic: str | None = CITY, *, confidence: float | None = None) -> Statement:
    return Statement(text, topic=topic, source=Source.INFERRED, confidence=confidence)


def known_fact(text: str, topic: str | None = None, *, at: datetime = NOON) -> StoredMemory:
    return from_fact(fact(text, topic, at=at))


def known_preference(key: str, value: str) -> StoredMemory:
    return from_preference(Preference(key, value, SetBy.USER, NOON))
