"""Lessons: learning facts from what was stated in a session."""

import logging
from collections.abc import Sequence

from mcp_memory_server.domain.kernel.log_labels import log_label
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.summaries.lessons import statement_of, worth_learning
from mcp_memory_server.domain.summaries.summary import Lesson
from mcp_memory_server.errors import ForgottenError, InvalidRequestError
from mcp_memory_server.services.facts.facts import Facts

logger = logging.getLogger(__name__)


class Lessons:
    """Learns what is new. The turn is the operation, so learning the same again changes nothing."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    async def learn(self, scope: Scope, lessons: Sequence[Lesson]) -> None:
        """Learn those of the lessons that are worth it."""
        if not lessons:
            return
        owner = Scope(scope.user_id)
        for lesson in worth_learning(lessons, await self._facts.all(owner)):
            operation_id = f"end of session, turn {lesson.turn_id}"
            try:
                await self._facts.learn(owner, statement_of(scope, lesson), operation_id=operation_id)
            except (ForgottenError, InvalidRequestError) as error:
                logger.info("%s: operation %r is not learned: %s", log_label(scope), operation_id, type(error).__name__)
