"""Which of the things that were said in a conversation are worth learning, given what is known."""

from collections.abc import Iterable, Sequence

from mcp_memory_server.domain.facts.fact import Fact, Standing
from mcp_memory_server.domain.facts.supersession import is_single_valued, is_update
from mcp_memory_server.domain.facts.topics import same_topic
from mcp_memory_server.domain.kernel.ulids import moment_of
from mcp_memory_server.domain.language.mentions import is_covered
from mcp_memory_server.domain.summaries.summary import Lesson


def worth_learning(lessons: Iterable[Lesson], known: Sequence[Fact]) -> list[Lesson]:
    """Return what nobody has saved yet, and what nothing newer is known about."""
    current = [fact for fact in known if fact.standing is Standing.CURRENT]
    return [lesson for lesson in lessons if not _is_known(lesson, current)]


def _is_known(lesson: Lesson, facts: Sequence[Fact]) -> bool:
    if is_covered(lesson.text, (fact.text for fact in facts)):
        return True
    newer = (fact for fact in facts if fact.said_at > moment_of(lesson.turn_id))
    rivals = (fact for fact in newer if same_topic(fact.topic, lesson.topic))
    return any(is_single_valued(lesson.topic) or is_update(lesson.text, fact.text, lesson.topic) for fact in rivals)
