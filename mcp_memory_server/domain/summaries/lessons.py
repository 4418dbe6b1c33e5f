"""Lessons of a conversation: which of them are worth learning, and as what."""

from collections.abc import Iterable, Sequence

from mcp_memory_server.domain.facts.fact import Fact, Source, Standing, Statement
from mcp_memory_server.domain.facts.supersession import is_single_valued, is_update
from mcp_memory_server.domain.facts.topics import same_topic
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.ulids import moment_of
from mcp_memory_server.domain.language.mentions import is_covered
from mcp_memory_server.domain.summaries.summary import Lesson


def worth_learning(lessons: Iterable[Lesson], known: Sequence[Fact]) -> list[Lesson]:
    """Return the lessons that no current fact covers, and that no newer fact contradicts."""
    current = [fact for fact in known if fact.standing is Standing.CURRENT]
    return [lesson for lesson in lessons if not _is_known(lesson, current)]


def statement_of(scope: Scope, lesson: Lesson) -> Statement:
    """Return the lesson as a statement of the session in which it was said."""
    return Statement(
        lesson.text,
        topic=lesson.topic,
        source=Source.USER_STATED if lesson.stated else Source.INFERRED,
        said_at=moment_of(lesson.turn_id),
        session_id=scope.session_id,
        turn_id=lesson.turn_id,
    )


def _is_known(lesson: Lesson, facts: Sequence[Fact]) -> bool:
    if is_covered(lesson.text, (fact.text for fact in facts)):
        return True
    newer = (fact for fact in facts if fact.said_at > moment_of(lesson.turn_id))
    rivals = (fact for fact in newer if same_topic(fact.topic, lesson.topic))
    return any(is_single_valued(lesson.topic) or is_update(lesson.text, fact.text, lesson.topic) for fact in rivals)
