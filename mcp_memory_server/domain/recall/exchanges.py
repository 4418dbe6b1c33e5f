"""Add to each match the turns that belong to it in its conversation, and remove filler.

A matching question is followed by its reply. Turns next to the best matches, such as the one between two of them or the
further items of a list, come after all matches.
"""

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from mcp_memory_server.domain.conversations.importance import Filler, filler_kind
from mcp_memory_server.domain.recall.documents import Match
from mcp_memory_server.domain.recall.likelihood import LIKELY_FROM, RELATED_FROM

MATCHES_WITH_CONTEXT = 5
"""Only so many of the best matches get context turns."""
REACH = 4
"""How many turns before and after a match may belong to it: a list is spread over every other turn."""
MOST_CONTEXT_TURNS = 4
"""The most turns that are returned although they did not match."""
CLOSE_ODDS = 4.5
"""A matching reply comes right after its question if its odds are lower by at most this factor."""
FARTHER = math.exp(0.5)
"""For each turn in between, the odds that a turn belongs to a match fall by this factor."""
LATEST = 30
"""Context turns come after all matches, but at the latest after this many. It is fewer than recall ever ranks, so that
a longer ranking of the same question keeps the order of the shorter one.
"""
LONG = 400
"""Characters. A longer text stands for itself, and is a context turn only as the reply to a likely question."""
END_OF_TEXT = 60
"""A question is recognised among so many last characters of a text, after it there is room for "I am curious!"."""

_ASKS = re.compile(
    r"[?\uff1f]|(?:です|ます|でしょう|した|せん)か(?:ね|な)?。?\s*$|(?:ください|教えて(?:ね|よ)?|お願い(?:します)?|[吗嗎呢])。?\s*$"
    r"|\b(?:please|(?:tell|remind|show|help|give) me|explain|recommend|suggest|let me know"
    r"|bitte|(?:sag|nenn|zeig|gib|erklär|hilf|empfiehl)e? mir|erinnere mich"
    r"|por favor|dime|dame|recuérdame|explícame|recomiéndame|enséñame)\b",
    re.IGNORECASE,
)


class Form(StrEnum):
    """The role of a turn in a conversation."""

    STATEMENT = "statement"
    QUESTION = "question"
    REACTION = "reaction"
    """Filler that may answer a question: "Yes, exactly!"."""
    FILLER = "filler"


@dataclass(frozen=True)
class Spoken:
    """The properties of a turn that matter to its neighbours. Many turns share one instance."""

    form: Form
    speaker: str | None
    is_long: bool


@dataclass(frozen=True)
class Conversations:
    """Access to the conversations of the matches.

    ``beside`` returns the documents before and after one, nearest first; ``spoken`` is None for a document that is no
    turn; ``may_be_found`` says whether the question allows a document.
    """

    beside: Callable[[str, int], tuple[Sequence[str], Sequence[str]]]
    spoken: Callable[[str], Spoken | None]
    may_be_found: Callable[[str], bool]


def spoken_as(speaker: str | None, text: str) -> Spoken:
    """Return the properties of a turn that matter to its neighbours."""
    return _spoken(_form(text), speaker, len(text) > LONG)


def with_exchanges(matches: Sequence[Match], conversations: Conversations) -> list[Match]:
    """Return the matches, best first, with their context and without filler."""
    kept = [match for match in matches if not _is_filler(match.id, conversations)] or list(matches)
    best = [match for match in kept[:MATCHES_WITH_CONTEXT] if conversations.spoken(match.id) is not None]
    if not best:
        return kept
    ranked = _replies_next(kept, best, conversations)
    known = {name for match in ranked for name in (match.id, *match.also)}
    context_turns = _context_turns(best, known, conversations)
    return [*ranked[:LATEST], *map(_context, context_turns), *ranked[LATEST:]]


_spoken = lru_cache(maxsize=10_000)(Spoken)


def _form(text: str) -> Form:
    if (kind := filler_kind(text)) is not None:
        return Form.REACTION if kind is Filler.REACTION else Form.FILLER
    return Form.QUESTION if _ASKS.search(text, max(0, len(text) - END_OF_TEXT)) else Form.STATEMENT


def _is_filler(document_id: str, conversations: Conversations) -> bool:
    said = conversations.spoken(document_id)
    if said is None or said.form not in (Form.FILLER, Form.REACTION):
        return False
    if said.form is Form.FILLER:
        return True
    before, _ = conversations.beside(document_id, 1)
    earlier = conversations.spoken(before[0]) if before else None
    return earlier is None or earlier.form is not Form.QUESTION


def _reply_to(document_id: str, conversations: Conversations) -> str | None:
    """Return the turn of another speaker right after a question."""
    said, (_, after) = conversations.spoken(document_id), conversations.beside(document_id, 1)
    if said is None or said.form is not Form.QUESTION or not after:
        return None
    reply = conversations.spoken(after[0])
    if reply is None or reply.speaker == said.speaker or _is_filler(after[0], conversations):
        return None
    return after[0] if conversations.may_be_found(after[0]) else None


def _replies_next(kept: Sequence[Match], best: Sequence[Match], conversations: Conversations) -> list[Match]:
    """Return the matches, with the replies to the best questions right after these."""
    places = {match.id: place for place, match in enumerate(kept)}
    repeated = {name for match in kept for name in match.also}
    replies: dict[str, Match] = {}
    for question in best:
        reply = _reply_to(question.id, conversations)
        if reply is None or reply in repeated or _is_long(reply, conversations):
            continue
        place, is_likely = places.get(reply), question.probability >= LIKELY_FROM
        if place is None:
            if is_likely:
                replies[question.id] = _context(reply)
        elif place > places[question.id] and (is_likely or (place < LATEST and _is_close(kept[place], question))):
            replies[question.id] = kept[place]
    return list(_in_order(kept, replies))


def _in_order(kept: Sequence[Match], replies: Mapping[str, Match]) -> Iterator[Match]:
    moved = {reply.id for reply in replies.values()}
    for match in kept:
        following = None if match.id in moved else match
        while following is not None:
            yield following
            following = replies.get(following.id)


def _context_turns(best: Sequence[Match], known: Collection[str], conversations: Conversations) -> list[str]:
    """Return the turns next to the best matches, those first that most probably belong to them."""
    odds: dict[str, float] = {}
    for match in best:
        if match.probability < RELATED_FROM:
            continue
        reply = _reply_to(match.id, conversations) if match.probability >= LIKELY_FROM else None
        for side in conversations.beside(match.id, REACH):
            for distance, name in enumerate(side):
                if name not in known and _belongs(name, reply, conversations):
                    odds[name] = max(odds.get(name, 0), _odds(match) / FARTHER**distance)
    return sorted(odds, key=lambda name: -odds[name])[:MOST_CONTEXT_TURNS]


def _belongs(document_id: str, reply: str | None, conversations: Conversations) -> bool:
    if not conversations.may_be_found(document_id) or _is_filler(document_id, conversations):
        return False
    return document_id == reply or not _is_long(document_id, conversations)


def _is_long(document_id: str, conversations: Conversations) -> bool:
    said = conversations.spoken(document_id)
    return said is None or said.is_long


def _is_close(reply: Match, question: Match) -> bool:
    return _odds(reply) * CLOSE_ODDS >= _odds(question)


def _odds(match: Match) -> float:
    return match.probability / max(1 - match.probability, 1e-9)


def _context(document_id: str) -> Match:
    return Match(document_id, 0.0, {}, is_context=True)
