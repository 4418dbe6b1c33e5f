"""The search index of one user, with the priors and traits that ranking needs."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from threading import Lock

from mcp_memory_server.domain.facts.as_of import facts_true_at
from mcp_memory_server.domain.kernel.items import Key
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.vectors import Vectors
from mcp_memory_server.domain.recall.documents import NO_STATISTICS, Match, Prior, Samples, Statistics
from mcp_memory_server.domain.recall.exchanges import Conversations, Spoken, spoken_as, with_exchanges
from mcp_memory_server.domain.recall.memories import Kind, StoredMemory, UserSnapshot
from mcp_memory_server.domain.recall.priors import prior, prior_of_turn, usage_boost
from mcp_memory_server.domain.recall.searched_documents import document_of
from mcp_memory_server.domain.recall.turn_memories import turn_memory_id
from mcp_memory_server.ports.search_index import SearchIndex
from mcp_memory_server.schema.keys import partition_of
from mcp_memory_server.services.conversations.past_turns import FoundTurn, TurnPlace
from mcp_memory_server.services.recall.followed_sessions import FollowedSessions

NO_SNAPSHOT = UserSnapshot(None, {})
MOST_TRANSIENT = 500
"""The most turns that are indexed although the index is full, because a vector service found them; oldest out first."""

_TURN = "TURN#"


@dataclass(frozen=True)
class TurnTraits:
    """The properties of an indexed turn that ranking needs."""

    at: datetime
    importance: float
    spoken: Spoken


class UserIndex:
    """The index of one user. It takes its own lock, and may be used from any thread."""

    def __init__(self, index: SearchIndex, writer: str = "") -> None:
        """``writer`` is the name under which this process publishes activity."""
        self.lock = Lock()
        self.index = index
        self.snapshot = NO_SNAPSHOT
        self.turns: dict[str, TurnTraits] = {}
        self.sessions = FollowedSessions(writer)
        self.transient: dict[str, None] = {}
        self.unreadable_turns = 0
        self._priors_at: datetime | None = None
        self._priors: dict[str, float] = {}
        """The prior of each document, computed when it is added, and again every day."""

    def changes_to(self, snapshot: UserSnapshot) -> tuple[list[str], list[str]]:
        """Return the sort keys to index and those to remove, to get from the indexed snapshot to this one."""
        before, changed = self.snapshot.by_key, snapshot.changed_since(self.snapshot.serial)
        rows = (
            snapshot.by_key if changed is None else {sk: snapshot.by_key[sk] for sk in changed if sk in snapshot.by_key}
        )
        new = [sk for sk, memory in rows.items() if before.get(sk) is not memory and before.get(sk) != memory]
        removed = [sk for sk in (before if changed is None else changed) if sk in before and sk not in snapshot.by_key]
        return new, removed

    def remove(self, ids: Iterable[str]) -> None:
        """Remove documents from the index."""
        with self.lock:
            for document_id in ids:
                self.turns.pop(document_id, None)
                self._priors.pop(document_id, None)
                self.transient.pop(document_id, None)
                self.index.remove([document_id])

    def add(
        self,
        memories: Sequence[tuple[str, StoredMemory]],
        vectors: Sequence[Vectors],
        now: datetime,
        *,
        permanent: bool = False,
    ) -> None:
        """Index memories under their ids. A transient entry that is added as ``permanent`` stays."""
        with self.lock:
            self.index.add([document_of(*entry) for entry in memories], vectors)
            today = self._today(now)
            for document_id, memory in memories:
                self._priors[document_id] = prior(memory, today)
                if memory.kind is Kind.TURN:
                    self.turns[document_id] = TurnTraits(
                        memory.said_at, memory.importance, spoken_as(memory.speaker, memory.text)
                    )
                if permanent:
                    self.transient.pop(document_id, None)

    def admit_transient(self, turns: Mapping[TurnPlace, StoredMemory | None]) -> list[tuple[str, StoredMemory]]:
        """Return those of the turns to index as transient entries. The oldest transient entries are evicted.

        An entry that is named again, with its memory or without, becomes the newest.
        """
        with self.lock:
            named = {turn_document(place): memory for place, memory in turns.items()}
            new = {one: memory for one, memory in named.items() if memory is not None and one not in self.turns}
            for document_id in named:
                if document_id in new or document_id in self.transient:
                    self.transient.pop(document_id, None)
                    self.transient[document_id] = None
            leaving = list(self.transient)[: max(0, len(self.transient) - MOST_TRANSIENT)]
        self.remove(leaving)
        return [(document_id, memory) for document_id, memory in new.items() if document_id not in leaving]

    def is_new(self, turn: FoundTurn) -> bool:
        """Check whether a turn is not indexed permanently yet."""
        document_id = turn_document(turn.place)
        return document_id not in self.turns or document_id in self.transient

    def places_of_turn(self, memory_id: str) -> list[TurnPlace]:
        """Return the places of the turn with this public id and of its duplicates; nothing if it is not indexed."""
        with self.lock:
            places = [place for document_id in self.turns if (place := place_of(document_id)) is not None]
            named = [place for place in places if turn_memory_id(place.session_id, place.turn_id) == memory_id]
            same = [one for place in named for one in self.index.same_as(turn_document(place))]
        return [*named, *(place for one in same if (place := place_of(one)) is not None and place not in named)]

    def statistics(self, words: Collection[str]) -> Statistics:
        """Return what another index has to know that the same question is asked of."""
        with self.lock:
            return self.index.statistics(words)

    def score_samples(
        self,
        questions: Sequence[tuple[str, Vectors]],
        asked_at: datetime,
        only: Callable[["UserIndex"], Collection[str]] | None,
        beside: Statistics,
    ) -> Samples:
        """Return how the documents score in general, which another index has to know too."""
        with self.lock:
            chosen = None if only is None else only(self)
            return self.index.score_samples(questions, asked_at=asked_at, only=chosen, beside=beside)

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
        beside: Statistics = NO_STATISTICS,
    ) -> tuple[list[Match], UserSnapshot]:
        """Return the matches, best first, with what belongs to them in their conversations, and the snapshot they refer
        to.
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
                beside=beside,
            )
            return with_exchanges(found, self._conversations(chosen)), self.snapshot

    def _conversations(self, only: Collection[str] | None) -> Conversations:
        def spoken(document_id: str) -> Spoken | None:
            traits = self.turns.get(document_id)
            return None if traits is None else traits.spoken

        return Conversations(self.index.beside, spoken, lambda document_id: only is None or document_id in only)

    def alike(self, document_id: str, limit: int) -> list[tuple[StoredMemory, float]]:
        """Return the memories that are closest in meaning to this one, closest first, each with its cosine."""
        with self.lock:
            found = self.index.alike(document_id, limit)
            return [(self.snapshot.by_key[one], cosine) for one, cosine in found if one in self.snapshot.by_key]

    def held(self, moment: datetime, rows: Mapping[str, StoredMemory]) -> set[str]:
        """Return the documents that were true, or had been said, at this moment."""
        turns = {document_id for document_id, traits in self.turns.items() if traits.at <= moment}
        facts = {sk: memory.fact for sk, memory in rows.items() if memory.fact is not None}
        others = {sk for sk, memory in rows.items() if memory.fact is None and memory.since <= moment}
        return turns | others | set(facts_true_at(facts, moment))

    def _prior(self, now: datetime, times_returned: Mapping[str, int]) -> Prior:
        rows, today = self.snapshot.by_key, self._today(now)

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
        turn, memory = self.turns.get(document_id), self.snapshot.by_key.get(document_id)
        if turn is not None:
            snapshot = prior_of_turn(turn.at, turn.importance, now)
        else:
            snapshot = 1.0 if memory is None else prior(memory, now)
        self._priors[document_id] = snapshot
        return snapshot


def turn_document(place: TurnPlace) -> str:
    """Return the document id of a turn."""
    return f"{_TURN}{place.partition}#{place.turn_id}#{place.session_id}"


def place_of(document_id: str) -> TurnPlace | None:
    """Return the place of the turn with this document id; None if it is not that of a turn."""
    if not document_id.startswith(_TURN):
        return None
    _, partition, turn_id, session_id = document_id.split("#", 3)
    return TurnPlace(session_id, turn_id, int(partition))


def key_of(scope: Scope, document_id: str) -> Key:
    """Return the key of the memory with this document id."""
    place = place_of(document_id)
    return Key(partition_of(scope), document_id) if place is None else place.key(scope)
