"""Which of the things that were said in a conversation are worth learning, given what is known."""

from collections.abc import Iterable, Sequence

from mcp_memory_server.domain.facts import Fact, Standing
from mcp_memory_server.domain.mentions import is_covered
from mcp_memory_server.domain.summaries import Lesson
from mcp_memory_server.domain.ulids import moment_of


def worth_learning(lessons: Iterable[Lesson], known: Sequence[Fact]) -> list[Lesson]:
    """Return what nobody has saved yet, and what nothing newer is known about."""
    current = [fact for fact in known if fact.standing is Standing.CURRENT]
    return [lesson for lesson in lessons if not _is_known(lesson, current)]


def _is_known(lesson: Lesson, facts: Sequence[Fact]) -> bool:
    if is_covered(lesson.text, (fact.text for fact in facts)):
        return True
    same_topic = (fact for fact in facts if lesson.topic is not None and fact.topic == lesson.topic)
    return any(fact.said_at > moment_of(lesson.turn_id) for fact in same_topic)
