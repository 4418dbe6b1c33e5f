"""The end of a session: one summary of it, and what was learned in it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import uuid4

from mcp_memory_server.domain.facts.fact import Fact, Source, Statement
from mcp_memory_server.domain.kernel.items import Item, Write
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.status import Status
from mcp_memory_server.domain.kernel.ulids import moment_of
from mcp_memory_server.domain.sessions.turns import Turn, View
from mcp_memory_server.domain.summaries.agent_summaries import AGENT, AgentSummary, as_written, continued
from mcp_memory_server.domain.summaries.lessons import worth_learning
from mcp_memory_server.domain.summaries.material import material_from
from mcp_memory_server.domain.summaries.summary import (
    BUILT_IN,
    Draft,
    Lesson,
    Level,
    Summary,
    open_questions,
    session_summary,
)
from mcp_memory_server.errors import ConflictError, ForgottenError, InvalidRequestError, UnavailableError
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.schema import keys
from mcp_memory_server.schema.ending_records import Ending
from mcp_memory_server.schema.summary_records import summary_put
from mcp_memory_server.schema.user_versions import bump_version
from mcp_memory_server.services.sessions.session_reader import LoadedSession, SessionReader
from mcp_memory_server.services.summaries.ending_leases import LONGEST_LIFE, Endings
from mcp_memory_server.services.summaries.summaries import Summaries
from mcp_memory_server.services.summaries.summarizing import Summarizing

MOST_TURNS = 200
"""Of a longer session the last turns are read, and what was summed up of the others while it ran."""
WRITTEN_WITHIN = 8
"""How often it is tried to write a summary while others write for the same user."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Knowledge:
    """What is known of users, and how something is added to it."""

    facts: Callable[[Scope], Awaitable[Sequence[Fact]]]
    learn: Callable[[Scope, Statement, str], Awaitable[object]]


class SessionEnds:
    """Sums up sessions that are over: each once, however often it is asked, and by however many processes."""

    def __init__(
        self,
        table: ItemTable,
        reader: SessionReader,
        endings: Endings,
        summaries: Summaries,
        summarizing: Summarizing,
        knowledge: Knowledge,
        now: Callable[[], datetime],
    ) -> None:
        self._table = table
        self._reader = reader
        self._endings = endings
        self._summaries = summaries
        self._summarizing = summarizing
        self._knowledge = knowledge
        self._now = now

    @property
    def asks_a_model(self) -> bool:
        """Tell whether summing a session up may take as long as a model takes."""
        return self._summarizing.asks_a_model

    async def keep(
        self, scope: Scope, session: LoadedSession, ended_at: datetime, written: AgentSummary | None = None
    ) -> None:
        """Keep a summary at once: what the agent wrote, or else what the last turns come to without a model.

        The latter is replaced when the session is summed up. What the agent wrote stays.

        Raises:
            UnavailableError: The table did not take it.
        """
        if not session.turns and written is None:
            return
        kept, forgotten = await asyncio.gather(self._summaries.stored(scope), self._summaries.forgotten(scope))
        others = [one for one in kept.summaries if one.id != scope.session_id]
        material = material_from(session.turns, None, open_questions(others))
        draft = await self._summarizing.draft_here(material)
        since = session.turns[0].at if session.turns else ended_at
        summary = session_summary(
            draft, scope.session_id or "", since, ended_at, turn_count=session.turn_count, made_by=BUILT_IN
        )
        if written is not None:
            summary = as_written(summary, written)
        await self._put(scope, forgotten.taken_from(summary))

    async def _put(self, scope: Scope, summary: Summary) -> None:
        for _ in range(WRITTEN_WITHIN):
            with suppress(ConflictError):  # others wrote for the same user at the same moment
                await self._table.write(await self._summary_writes(scope, summary), operation_id=uuid4().hex)
                return
        raise UnavailableError("others kept writing for the same user; end the session again")

    async def finish(self, scope: Scope) -> bool:
        """Sum the session up if it is over and that was not done; tell whether there is nothing left to do now.

        Raises:
            UnavailableError: The table did not answer. Somebody else, or a later call, does it.
        """
        ending = await self._endings.read(scope)
        if self._endings.is_held(ending):
            return False
        session = await self._reader.last(scope, MOST_TURNS, View.SUMMARY)
        if session.status is not Status.COMPLETE:
            raise UnavailableError("not all turns of the session could be read")
        if not session.turns:
            await self._endings.forget(scope, ending)
            return True
        last = session.turns[-1]
        if last.id > ending.upto and not self._endings.is_over(ending, last, session.turn_count):
            await self._endings.look_again(scope, ending, last.at + LONGEST_LIFE)
            return True
        if last.id <= ending.upto and ending.due is None:
            return True
        claim = await self._endings.claim(scope, ending)
        if claim is None:
            return False
        if last.id <= claim.upto:
            return await self._write(scope, claim, last.id, None)
        return await self._sum_up(scope, session, claim)

    async def _sum_up(self, scope: Scope, session: LoadedSession, claim: Ending) -> bool:
        kept = await self._summaries.stored(scope)
        own = kept.item_of(scope)
        # What was folded into its week already is not told again.
        turns = [turn for turn in session.turns if own is not None or turn.id > claim.upto]
        written = _by_the_agent(kept.summaries, scope)
        if written is not None:
            turns = [turn for turn in turns if turn.at > written.until]
            if not turns:
                return await self._learn_only(scope, session, claim)
        others = [one for one in kept.summaries if one.id != scope.session_id]
        earlier = session.summary if session.cursor is not None else None
        material = material_from(turns, earlier, open_questions(others))
        draft, made_by = await self._summarizing.draft(scope, material)
        forgotten = await self._summaries.forgotten(scope)
        await self._learn(scope, [one for one in draft.lessons if not forgotten.has(one.text)])
        summary = _summary(scope, draft, turns, session, made_by)
        if written is not None:
            summary = replace(continued(written, summary), turn_count=session.turn_count)
        return await self._write(scope, claim, turns[-1].id, forgotten.taken_from(summary))

    async def _learn_only(self, scope: Scope, session: LoadedSession, claim: Ending) -> bool:
        """Learn what was stated in a session that its agent has summed up: no model is paid to do that again."""
        draft = await self._summarizing.draft_here(material_from(session.turns, None, ()))
        forgotten = await self._summaries.forgotten(scope)
        await self._learn(scope, [one for one in draft.lessons if not forgotten.has(one.text)])
        return await self._write(scope, claim, session.turns[-1].id, None)

    async def _learn(self, scope: Scope, lessons: Sequence[Lesson]) -> None:
        """Learn what is new. The operation is known by its turn: whoever does it again changes nothing."""
        if not lessons:
            return
        known = await self._knowledge.facts(scope)
        for lesson in worth_learning(lessons, known):
            try:
                statement = _statement(scope, lesson)
                await self._knowledge.learn(scope, statement, f"end of session, turn {lesson.turn_id}")
            except (ForgottenError, InvalidRequestError):
                logger.info("something that was said in a session is not learned: it was forgotten, or cannot be kept")

    async def _write(self, scope: Scope, claim: Ending, upto: str, summary: Summary | None) -> bool:
        """Write the summary and that it is done, both or neither; tell whether it is done, by whomever."""
        if summary is not None and summary.expires_at is not None and summary.expires_at <= self._now():
            summary = None  # an old conversation that was brought along: it would be gone at once
        for _ in range(WRITTEN_WITHIN):
            try:
                await self._table.write(await self._writes(scope, claim, upto, summary), operation_id=uuid4().hex)
            except ConflictError:
                # Others may have written for the same user; or the claim is no longer ours.
                if (await self._endings.read(scope)).version != claim.version:
                    return False
            else:
                return True
        raise UnavailableError("others kept writing for the same user; the session is summed up later")

    async def _writes(self, scope: Scope, claim: Ending, upto: str, summary: Summary | None) -> list[Write]:
        done = self._endings.done(scope, claim, upto, summed_up=summary is not None)
        return [done] if summary is None else [*await self._summary_writes(scope, summary), done]

    async def _summary_writes(self, scope: Scope, summary: Summary) -> list[Write]:
        item: Item | None = await self._table.get(keys.summary_key(scope, summary.level, summary.id))
        version, over = (0, None) if item is None else (item.version, item.body)
        put = summary_put(scope, summary, expected_version=version, over=over)
        return [put, bump_version(scope, put.key)]


def _by_the_agent(summaries: Sequence[Summary], scope: Scope) -> Summary | None:
    own = (one for one in summaries if (one.level, one.id) == (Level.SESSION, scope.session_id))
    return next((one for one in own if one.made_by == AGENT), None)


def _summary(scope: Scope, draft: Draft, turns: Sequence[Turn], session: LoadedSession, made_by: str) -> Summary:
    whole = len(turns) == len(session.turns)
    return session_summary(
        draft,
        scope.session_id or "",
        turns[0].at,
        turns[-1].at,
        turn_count=session.turn_count if whole else len(turns),
        made_by=made_by,
    )


def _statement(scope: Scope, lesson: Lesson) -> Statement:
    return Statement(
        lesson.text,
        topic=lesson.topic,
        source=Source.USER_STATED if lesson.stated else Source.INFERRED,
        said_at=moment_of(lesson.turn_id),
        session_id=scope.session_id,
        turn_id=lesson.turn_id,
    )
