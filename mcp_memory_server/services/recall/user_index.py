"""What can be searched of one user: an index, and what belongs to it."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from threading import Lock

from mcp_memory_server.domain.facts.as_of import facts_true_at
from mcp_memory_server.domain.kernel.items import Key
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.ulids import first_ulid_of, moment_of
from mcp_memory_server.domain.kernel.vectors import Vectors
from mcp_memory_server.domain.recall.documents import Match, Prior
from mcp_memory_server.domain.recall.exchanges import Conversations, Spoken, spoken_as, with_exchanges
from mcp_memory_server.domain.recall.memories import Kind, StoredMemory, UserSnapshot
from mcp_memory_server.domain.recall.ranking import prior, prior_of_turn, usage_boost
from mcp_memory_server.domain.recall.searched_documents import document_of
from mcp_memory_server.domain.recall.turn_memories import turn_memory_id
from mcp_memory_server.ports.search_index import SearchIndex
from mcp_memory_server.schema.keys import user_partition
from mcp_memory_server.schema.user_versions import SessionActivity
from mcp_memory_server.services.conversations.past_turns import FoundTurn, SessionTurns, TurnPlace

POLLED_FOR = timedelta(minutes=90)
"""So long a session is looked at for new turns. Whoever writes to it announces it again within half an hour, and two
clocks may differ by half an hour."""
OUT_OF_ORDER = timedelta(minutes=2)
"""Turns that are written at the same time may arrive out of the order of their ids, within so long."""

NOTHING_YET = UserSnapshot(None, {})
SOMEBODY = "?"

MOST_TRANSIENT = 500
"""So many turns are kept although there is no room for them, because they were found elsewhere; the oldest leave."""

_TURN = "TURN#"


@dataclass
class SessionCursor:
    """A session that may get turns: up to which one they are known, and since which one they may have come late.

    ``seen`` are the ids of those that were there when its end was last read.
    """

    last: str = ""
    since: str | None = None
    seen: frozenset[str] = frozenset()
    is_announced: bool = False
    """Whether all who write there have announced that since it is followed."""
    others_wrote: bool = True
    """Whether others than this process may have written there since it was last read."""
    leases: dict[str, datetime] = field(default_factory=dict[str, datetime])
    """Until when each writer may add turns unannounced."""

    def is_running(self, now: datetime) -> bool:
        """Tell whether somebody may be adding turns."""
        return any(now < until for until in tuple(self.leases.values()))

    def start(self) -> str:
        """Return the id from which on turns may be new."""
        if not self.last:
            return ""
        if self.since is not None and not self.others_wrote:
            return self.since
        overlap = first_ulid_of(moment_of(self.last) - OUT_OF_ORDER)
        return overlap if self.since is None else min(overlap, self.since)


@dataclass(frozen=True)
class TurnNote:
    """What ranking needs to know of a turn that is searched."""

    at: datetime
    importance: float
    spoken: Spoken


class UserIndex:
    """The index of one user. Its lock is held for each use, by whoever uses it, from any thread."""

    def __init__(self, index: SearchIndex, writer: str = "") -> None:
        """``writer`` is what this process is called where it announces that it writes."""
        self.lock = Lock()
        self._writer = writer
        self.index = index
        self.known = NOTHING_YET
        self.turns: dict[str, TurnNote] = {}
        self.sessions: dict[str, SessionCursor] = {}
        self.unread: set[str] = set()
        self._leased: set[str] = set()
        self.transient: dict[str, None] = {}
        self.unreadable_turns = 0
        self.has_read_activity = False
        self._priors_at: datetime | None = None
        self._priors: dict[str, float] = {}
        """How each memory stands. That changes over days: it is worked out when one comes, and then once a day."""

    # What belongs in the index.

    def changes_to(self, known: UserSnapshot) -> tuple[list[str], list[str]]:
        """Return the sort keys to index, and those to take out."""
        before, changed = self.known.by_key, known.changed_since(self.known.serial)
        rows = known.by_key if changed is None else {sk: known.by_key[sk] for sk in changed if sk in known.by_key}
        new = [sk for sk, memory in rows.items() if before.get(sk) is not memory and before.get(sk) != memory]
        gone = [sk for sk in (before if changed is None else changed) if sk in before and sk not in known.by_key]
        return new, gone

    def take_out(self, ids: Iterable[str]) -> None:
        """Take documents out of the index."""
        with self.lock:
            for document_id in ids:
                self.turns.pop(document_id, None)
                self._priors.pop(document_id, None)
                self.transient.pop(document_id, None)
                self.index.remove([document_id])

    def put_in(
        self,
        memories: Sequence[tuple[str, StoredMemory]],
        vectors: Sequence[Vectors],
        now: datetime,
        *,
        for_good: bool = False,
    ) -> None:
        """Index memories under their ids. Who comes ``for_good`` is no guest any more."""
        with self.lock:
            self.index.add([document_of(*entry) for entry in memories], vectors)
            today = self._today(now)
            for document_id, memory in memories:
                self._priors[document_id] = prior(memory, today)
                if memory.kind is Kind.TURN:
                    self.turns[document_id] = TurnNote(
                        memory.said_at, memory.importance, spoken_as(memory.speaker, memory.text)
                    )
                if for_good:
                    self.transient.pop(document_id, None)

    def admit(self, turns: Mapping[TurnPlace, StoredMemory | None]) -> list[tuple[str, StoredMemory]]:
        """Return those that are not here yet, to be put in as guests. The guests that came first make room.

        A guest who is named again, with its memory or without, comes anew.
        """
        with self.lock:
            named = {turn_document(place): memory for place, memory in turns.items()}
            new = {one: memory for one, memory in named.items() if memory is not None and one not in self.turns}
            for document_id in named:
                if document_id in new or document_id in self.transient:
                    self.transient.pop(document_id, None)
                    self.transient[document_id] = None
            leaving = list(self.transient)[: max(0, len(self.transient) - MOST_TRANSIENT)]
        self.take_out(leaving)
        return [(document_id, memory) for document_id, memory in new.items() if document_id not in leaving]

    def is_new(self, turn: FoundTurn) -> bool:
        """Tell whether a turn has no place here yet. A guest has none until it is read in its session."""
        document_id = turn_document(turn.place)
        return document_id not in self.turns or document_id in self.transient

    def places_of_turn(self, memory_id: str) -> list[TurnPlace]:
        """Return where the turn lies that is told under this id, and then those that say the same; none if none is."""
        with self.lock:
            places = [place for document_id in self.turns if (place := place_of(document_id)) is not None]
            named = [place for place in places if turn_memory_id(place.session_id, place.turn_id) == memory_id]
            same = [one for place in named for one in self.index.same_as(turn_document(place))]
        return [*named, *(place for one in same if (place := place_of(one)) is not None and place not in named)]

    # Which sessions may have more.

    def follow(self, announced: Iterable[SessionActivity], now: datetime, *, is_settled: bool = False) -> None:
        """Note what was announced about sessions. Who writes to new ones ``is_settled`` if all others were listed."""
        for talk in announced:
            session = self.sessions.setdefault(talk.session, SessionCursor(is_announced=is_settled))
            if talk.is_over:
                session.leases.pop(talk.writer, None)
            elif talk.writer != self._writer:  # what is written here is expected one by one
                session.leases[talk.writer] = now + POLLED_FOR
                self._leased.add(talk.session)
            session.others_wrote = session.others_wrote or talk.writer != self._writer
            if talk.since:
                session.since = talk.since if session.since is None else min(session.since, talk.since)
            self.unread.add(talk.session)

    def expect(self, written: Mapping[str, str], *, is_settled: bool = False) -> None:
        """Note which sessions got turns from here, and the first of those turns."""
        for session_id, first in written.items():
            session = self.sessions.setdefault(session_id, SessionCursor(is_announced=is_settled))
            session.since = first if session.since is None else min(session.since, first)
            self.unread.add(session_id)

    @property
    def is_read(self) -> bool:
        """Whether every session that is known of was read to its end, once."""
        return self.has_read_activity and not self.unread

    def doubt_activity(self) -> None:
        """Note that any session may have turns that were not announced here: all of them are looked at again."""
        self.has_read_activity = False
        self.unread |= self.sessions.keys()
        for session in self.sessions.values():
            session.is_announced, session.others_wrote = False, True

    def to_read(self, now: datetime) -> list[str]:
        """Return the sessions in which turns may be that are not searched yet."""
        # A copy: another thread may just follow one more.
        running = {name for name in tuple(self._leased) if self.sessions[name].is_running(now)}
        return sorted(self.unread | running)

    def has_read(self, session_id: str, read: SessionTurns, now: datetime) -> None:
        """Note that a session was read to its end."""
        session, turns = self.sessions.setdefault(session_id, SessionCursor()), read.turns
        session.seen = read.seen
        self.unread.discard(session_id)
        if turns:
            session.last = max(session.last, turns[-1].place.turn_id)
        if read.seen and not session.is_announced:
            # Whoever wrote that may have announced it before anybody looked, and may write more.
            session.leases[SOMEBODY] = moment_of(max(read.seen)) + POLLED_FOR
            self._leased.add(session_id)
        session.others_wrote = session.is_running(now) or not session.is_announced
        if not session.is_running(now):
            session.leases, session.since, session.seen = {}, None, frozenset()
            self._leased.discard(session_id)

    # Asking.

    def search(
        self,
        questions: Sequence[tuple[str, Vectors]],
        *,
        asked_at: datetime,
        limit: int,
        times_returned: Mapping[str, int],
        only: Callable[["UserIndex"], Collection[str]] | None = None,
        explain: bool = False,
        few_weak: bool = True,
    ) -> tuple[list[Match], UserSnapshot]:
        """Return what answers one of the questions, best first, with what belongs to it in its conversation.

        The second is the memories that it refers to.
        """
        with self.lock:
            prior = self._prior(asked_at, times_returned)
            chosen = None if only is None else only(self)
            found = self.index.search(
                questions,
                asked_at=asked_at,
                limit=limit,
                only=chosen,
                prior=prior,
                explain=explain,
                few_weak=few_weak,
            )
            return with_exchanges(found, self._conversations(chosen)), self.known

    def _conversations(self, only: Collection[str] | None) -> Conversations:
        def spoken(document_id: str) -> Spoken | None:
            note = self.turns.get(document_id)
            return None if note is None else note.spoken

        return Conversations(self.index.beside, spoken, lambda document_id: only is None or document_id in only)

    def alike(self, document_id: str, limit: int) -> list[tuple[StoredMemory, float]]:
        """Return the memories that are closest in meaning to this one, closest first, each with its cosine."""
        with self.lock:
            found = self.index.alike(document_id, limit)
            return [(self.known.by_key[one], cosine) for one, cosine in found if one in self.known.by_key]

    def held(self, moment: datetime, rows: Mapping[str, StoredMemory]) -> set[str]:
        """Return the documents of what was true, or had been said, at this moment."""
        turns = {document_id for document_id, note in self.turns.items() if note.at <= moment}
        facts = {sk: memory.fact for sk, memory in rows.items() if memory.fact is not None}
        others = {sk for sk, memory in rows.items() if memory.fact is None and memory.since <= moment}
        return turns | others | set(facts_true_at(facts, moment))

    def _prior(self, now: datetime, times_returned: Mapping[str, int]) -> Prior:
        rows, today = self.known.by_key, self._today(now)

        def factors(ids: Sequence[str]) -> list[float]:
            priors = [self._priors.get(one) or self._prior_of(one, today) for one in ids]
            for place, document_id in enumerate(ids) if times_returned else ():
                memory = rows.get(document_id)
                if memory is not None and memory.id in times_returned:
                    priors[place] *= usage_boost(times_returned[memory.id])
            return priors

        return factors

    def _today(self, now: datetime) -> datetime:
        today = now.replace(hour=0, minute=0, second=0, microsecond=0)
        if self._priors_at != today:
            self._priors_at, self._priors = today, {}
        return today

    def _prior_of(self, document_id: str, now: datetime) -> float:
        turn, memory = self.turns.get(document_id), self.known.by_key.get(document_id)
        if turn is not None:
            known = prior_of_turn(turn.at, turn.importance, now)
        else:
            known = 1.0 if memory is None else prior(memory, now)
        self._priors[document_id] = known
        return known


def turn_document(place: TurnPlace) -> str:
    """Return the id under which a turn is indexed."""
    return f"{_TURN}{place.partition}#{place.turn_id}#{place.session_id}"


def place_of(document_id: str) -> TurnPlace | None:
    """Return where the turn lies that is indexed under this id, None if it is not that of a turn."""
    if not document_id.startswith(_TURN):
        return None
    _, partition, turn_id, session_id = document_id.split("#", 3)
    return TurnPlace(session_id, turn_id, int(partition))


def key_of(scope: Scope, document_id: str) -> Key:
    """Return where the memory lies that is indexed under this id."""
    place = place_of(document_id)
    return Key(user_partition(scope.user_id), document_id) if place is None else place.key(scope)
