"""Recognise statements that end an earlier one: no longer, stopped, instead of, from one to another."""

from collections.abc import Iterable, Iterator, Sequence

from mcp_memory_server.domain.facts.supersession.reading import (
    CONTENT,
    LINKS,
    NOUNS,
    STATES,
    VERBS,
    WORK_LINKS,
    Piece,
    Reading,
    clauses,
    is_alike,
    same_owner,
    same_subject,
)
from mcp_memory_server.domain.facts.supersession.word_tags import Tag, word_set

_HABITS_WITHOUT_OBJECT = ("smok", "rauch", "fum")
_ENDINGS = frozenset({Tag.NO_LONGER, Tag.STOPPED, Tag.SOLD, Tag.CANCELLED})
_AUXILIARIES = frozenset({Tag.IS, Tag.HAS})
_STATED = CONTENT | (STATES - _AUXILIARIES) | {Tag.PLANNED}
_POSSESSION = frozenset({Tag.HAS, Tag.DRIVES, Tag.HOLDS, Tag.MANY, Tag.IS})


def says_it_ended(new: Reading, old: Reading) -> bool:
    """Check whether the new statement says that the old one is no longer true."""
    if not new.tags & _ENDINGS or not _is_related(new, old) or _is_at_other_times(new, old):
        return False
    return any(_covers(ended, new, old) for ended in _ended(new, old))


def says_it_was_replaced(new: Reading, old: Reading) -> bool:
    """Check whether the new statement replaces what the old one says by something else."""
    if not _is_related(new, old) or _is_narrower_in_time(new, old):
        return False
    return any(_covers(replaced, new, old) for replaced in _replaced(new))


def says_the_opposite(new: Reading, old: Reading) -> bool:
    """Check whether one denies exactly what the other says."""
    if _is_denied(new) == _is_denied(old) or not same_subject(new, old) or _is_at_other_times(new, old):
        return False
    one, other = _core(new), _core(old)
    return bool(one) and _all_in(one, other) and _all_in(other, one)


def says_it_was_cancelled(new: Reading, old: Reading) -> bool:
    """Check whether the new statement cancels the event for which the old one gives a date."""
    if Tag.CANCELLED not in new.tags or not new.subject or not same_subject(new, old):
        return False
    return bool(old.tags & {Tag.TIME, Tag.NUMBER}) and bool(old.tags & {Tag.IS, Tag.DUE, Tag.HAPPENS})


def prefers_the_other_way_round(new: Reading, old: Reading) -> bool:
    """Check whether both order the same preferences differently."""
    if Tag.PREFERS not in new.tags & old.tags or not same_subject(new, old):
        return False
    one, other = _core(new), _core(old)
    texts, old_texts = [piece.text for piece in one], [piece.text for piece in other]
    return texts != old_texts and sorted(texts) == sorted(old_texts)


def _ended(new: Reading, old: Reading) -> Iterator[list[Piece]]:
    for clause in clauses(new.rest):
        tags = {piece.tag for piece in clause}
        if not tags & _ENDINGS:
            continue
        if Tag.STOPPED in tags and (Tag.LIVES in old.tags or _is_stop_without_activity(clause)):
            continue
        if Tag.SOLD in tags and not old.tags & _POSSESSION:
            continue
        yield _content_of(_before_circumstance(clause))


def _is_stop_without_activity(clause: Sequence[Piece]) -> bool:
    """Check whether this is "stopped at Siemens", not "stopped smoking"."""
    for piece, following in zip(clause, [*clause[1:], None], strict=True):
        if piece.tag is Tag.STOPPED and piece.text == "stopped":
            return following is None or not following.text.endswith("ing")
    return False


def _replaced(new: Reading) -> Iterator[list[Piece]]:
    rest = new.rest
    for place, piece in enumerate(rest):
        if piece.tag is Tag.INSTEAD_OF:
            yield _content_of(_before_circumstance(rest[place + 1 :]))
        elif piece.tag is Tag.REPLACED:
            yield _content_of(_until(rest[place + 1 :], {Tag.BY, Tag.TO}))
        elif piece.tag is Tag.FROM and new.tags & {Tag.CHANGED, Tag.MOVED}:
            source = _until(rest[place + 1 :], {Tag.TO})
            if len(source) < len(rest) - place - 1:
                yield _content_of(source)


def _until(pieces: Sequence[Piece], tags: set[Tag]) -> Sequence[Piece]:
    end = next((place for place, piece in enumerate(pieces) if piece.tag in tags | {Tag.STOP}), len(pieces))
    return pieces[:end]


def _before_circumstance(pieces: Sequence[Piece]) -> Sequence[Piece]:
    """Return the pieces before a circumstance such as "since the operation" or "in May"."""
    kept: list[Piece] = []
    for place, piece in enumerate(pieces):
        following = pieces[place + 1] if place + 1 < len(pieces) else None
        if piece.tag in {Tag.SINCE, Tag.STOP}:
            break
        if piece.tag in LINKS and following is not None and following.tag in {Tag.TIME, Tag.YEAR, Tag.NUMBER} and kept:
            break
        kept.append(piece)
    return kept


def _content_of(pieces: Iterable[Piece]) -> list[Piece]:
    return [piece for piece in pieces if piece.tag in _STATED]


def _covers(ended: list[Piece], new: Reading, old: Reading) -> bool:
    """Check whether the old statement says what ended, and apart from it only circumstances."""
    named = [piece for piece in ended if piece.tag is not Tag.WORKS] or ended
    if not any(piece.tag in CONTENT or _is_habit(piece) for piece in named) or not _all_in(named, old.rest):
        return False
    if len(named) == 1 and _is_habit(named[0]):
        return True
    return all(_has(new.pieces, piece) for piece in _loose(_beside(old, named, ended, new), named))


def _beside(old: Reading, named: Sequence[Piece], ended: Sequence[Piece], new: Reading) -> Sequence[Piece]:
    """Return where words may be that did not end: not in the role that ended with the job, nor before a tool."""
    verb = old.verb
    place = next((place for place, piece in enumerate(old.rest) if piece.tag in LINKS), None)
    if verb is None or place is None or not _has(named, old.rest[-1 if old.rest[-1].tag is not Tag.STOP else -2]):
        return old.rest
    is_job = old.rest[place].text in WORK_LINKS and (new.tags & {Tag.STOPPED} or any(p.tag is Tag.WORKS for p in ended))
    is_tool = verb.tag is Tag.HOLDS and Tag.REPLACED in new.tags
    return old.rest[place:] if (is_job and verb.tag is Tag.IS) or is_tool else old.rest


def _is_habit(piece: Piece) -> bool:
    return piece.text.startswith(_HABITS_WITHOUT_OBJECT)


def _loose(rest: Sequence[Piece], named: Sequence[Piece]) -> Iterator[Piece]:
    """Yield the words that are neither named nor attached to the statement by a preposition."""
    is_attached = False
    for piece in rest:
        if piece.tag in LINKS or piece.tag is Tag.SINCE:
            is_attached = True
        elif piece.tag in VERBS or piece.tag in {Tag.AND, Tag.COMMA, Tag.STOP}:
            is_attached = False
        elif piece.tag in CONTENT and not is_attached and not _has(named, piece):
            yield piece


def _is_related(new: Reading, old: Reading) -> bool:
    if same_subject(new, old):
        return True
    if old.subject and not new.subject and old.subject <= {piece.text for piece in new.rest}:
        return True
    is_owned = bool(old.subject_tags & NOUNS) and old.owner is not None
    return is_owned and not new.subject and new.owner is not None and same_owner(new.owner, old.owner)


def _is_narrower_in_time(new: Reading, old: Reading) -> bool:
    return Tag.TIME in new.tags and Tag.TIME not in old.tags and not new.tags & {Tag.CHANGED, Tag.MOVED, Tag.REPLACED}


def _is_at_other_times(new: Reading, old: Reading) -> bool:
    times = {piece.text for piece in new.rest if piece.tag is Tag.TIME}
    return bool(times) and Tag.TIME in old.tags and times.isdisjoint(piece.text for piece in old.rest)


def _is_denied(reading: Reading) -> bool:
    negations = sum(piece.tag in {Tag.NOT, Tag.DISLIKES, Tag.NO_LONGER} for piece in reading.rest)
    doubled = Tag.NOT in reading.tags and Tag.NO_LONGER in reading.tags
    return (negations - doubled) % 2 == 1


def _core(reading: Reading) -> list[Piece]:
    return [piece for piece in _before_circumstance(reading.rest) if piece.tag in _STATED and not _is_attitude(piece)]


def _is_attitude(piece: Piece) -> bool:
    return piece.tag is Tag.DISLIKES or piece.text in _LIKES


_LIKES = word_set("likes like loves love enjoys adores mag liebt gusta gustan encanta encantan ama aime adore")


def _all_in(some: Iterable[Piece], others: Sequence[Piece]) -> bool:
    return all(_has(others, piece) for piece in some)


def _has(pieces: Iterable[Piece], wanted: Piece) -> bool:
    return any(is_alike(wanted, piece) for piece in pieces)
