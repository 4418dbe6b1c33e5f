"""Recognise a new value of what a person has once: a home, a job, a partner, a name, an age, a car."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from mcp_memory_server.domain.facts.supersession.reading import (
    CONTENT,
    LINKS,
    WORK_LINKS,
    Piece,
    Reading,
    may_be_several,
    same_owner,
    same_subject,
)
from mcp_memory_server.domain.facts.supersession.word_tags import Tag, word_set

_HOME_LINKS = frozenset({"in", "at", "en", "à", "im", "dans", "to", "into", "nach", "a", "auf"})
_LINKS_WITH_ARTICLE = frozenset({"im", "ins", "am", "beim"})
_SAYS_IT_IS_NEW = frozenset({Tag.NOW, Tag.MOVED, Tag.JOINED, Tag.CHANGED, Tag.STOPPED})
_VALUE = CONTENT | {Tag.POSSESSIVE}
_ENDS_VALUE = frozenset(
    {Tag.STOP, Tag.COMMA, Tag.AND, Tag.SINCE, Tag.NOW, Tag.AGAIN, Tag.NOT, Tag.TIME, Tag.YEAR, *LINKS}
)
_CLUBS = word_set("club choir union gym association society chor verein coro gremio chorale")
# "lives in Portugal", then "lives in Lisbon": nothing changed.
_COUNTRIES = word_set(
    """argentina australia austria belgium brazil canada chile china colombia denmark egypt england finland france
    germany greece hungary india indonesia ireland israel italy japan kenya korea mexico netherlands nigeria
    norway peru poland portugal romania russia scotland spain sweden switzerland taiwan thailand turkey uk ukraine
    usa vietnam wales europe bavaria bayern california catalonia texas deutschland österreich schweiz frankreich
    italien spanien england polen niederlande belgien dänemark schweden norwegen alemania españa francia italia
    méxico perú brasil suiza allemagne espagne suisse belgique italie inglaterra"""
)


class Value(NamedTuple):
    """The value that a statement gives: a home, an employer, a name."""

    words: frozenset[str]
    is_name: bool
    has_article: bool

    def differs(self, other: "Value") -> bool:
        """Check whether the values differ and neither is only a more precise form of the other."""
        if not self.words or not other.words or self.words <= other.words or other.words <= self.words:
            return False
        return self.is_name == other.is_name and self.has_article == other.has_article


def has_moved(new: Reading, old: Reading, *, is_single: bool) -> bool:
    """Check whether the person's home is now elsewhere."""
    return _is_other_place(new, old, is_single=is_single) and _is_present(new, Tag.MOVED)


def _is_other_place(new: Reading, old: Reading, *, is_single: bool) -> bool:
    if (Tag.LIVES not in old.tags and Tag.MOVED not in old.tags) or not new.tags & {Tag.LIVES, Tag.MOVED}:
        return False
    if Tag.LIMITED in new.tags or not (is_single or new.tags & _SAYS_IT_IS_NEW):
        return False
    if not same_subject(new, old, is_personal=is_single) or (may_be_several(new) and Tag.MOVED not in new.tags):
        return False
    now, then = _home(new), _home(old)
    if now is None or then is None or bool(now.words & _COUNTRIES) != bool(then.words & _COUNTRIES):
        return False
    return now.differs(then) and not _repeats(new, old, now, then) and (now.is_name or Tag.MOVED in new.tags)


def has_another_job(new: Reading, old: Reading, *, is_single: bool) -> bool:
    """Check whether the person works elsewhere now, or has found or lost work."""
    if Tag.LIMITED in new.tags | old.tags or not same_subject(new, old, is_personal=is_single):
        return False
    now, then = _work(new), _work(old)
    is_new = bool(new.tags & _SAYS_IT_IS_NEW) or (is_single and not may_be_several(new))
    if now is not None and then is not None:
        is_other = is_new and now.is_name and now.differs(then) and not (now.words | then.words) & _CLUBS
        return is_other and not _repeats(new, old, now, then) and _is_present(new, Tag.JOINED)
    if Tag.JOBLESS in old.tags:
        return now is not None and _is_present(new, Tag.JOINED)
    return Tag.JOBLESS in new.tags and then is not None and is_new


def has_another_status(new: Reading, old: Reading) -> bool:
    """Check whether the person has married, separated, or found a partner."""
    now, then = _status(new), _status(old)
    if now is None or then is None or now not in _FOLLOWS[then] or not _is_about_the_couple(new, old):
        return False
    return Tag.YEAR not in new.tags or Tag.NOW in new.tags


def has_another_name(new: Reading, old: Reading, *, is_single: bool) -> bool:
    """Check whether the person has another name now. A cat called Mia and one called Rex are two."""
    is_new = is_single or bool(new.tags & {Tag.NOW, Tag.SINCE})
    is_naming = all(reading.verb is not None and reading.verb.tag is Tag.CALLED for reading in (new, old))
    if not is_naming or not is_new or new.subject or not same_subject(new, old):
        return False
    now, then = _after(new.rest, Tag.CALLED), _after(old.rest, Tag.CALLED)
    return now is not None and then is not None and now.is_name and now.differs(then)


def has_another_superior(new: Reading, old: Reading, *, is_single: bool) -> bool:
    """Check whether the person reports to somebody else."""
    return _has_other_value(new, old, Tag.REPORTS, is_single=is_single)


def drives_another_car(new: Reading, old: Reading, *, is_single: bool) -> bool:
    """Check whether the person drives another car."""
    return _has_other_value(new, old, Tag.DRIVES, is_single=is_single)


def is_another_age(new: Reading, old: Reading) -> bool:
    """Check whether the person had a birthday."""
    if Tag.TURNED not in new.tags or not same_subject(new, old):
        return False
    return _is_age(old) and any(piece.tag is Tag.NUMBER for piece in new.rest)


def _is_age(reading: Reading) -> bool:
    said = [piece for piece in reading.rest if piece.tag in CONTENT]
    numbers = [piece for piece in said if piece.tag is Tag.NUMBER]
    return len(numbers) == 1 and all(piece.text in _AGE_WORDS for piece in said if piece.tag is not Tag.NUMBER)


_AGE_WORDS = word_set("years year old jahre jahr alt años año ans an")


def _has_other_value(new: Reading, old: Reading, verb: Tag, *, is_single: bool) -> bool:
    if verb not in new.tags & old.tags or Tag.LIMITED in new.tags | old.tags:
        return False
    if not (is_single or Tag.NOW in new.tags) or not same_subject(new, old, is_personal=is_single):
        return False
    now, then = _after(new.rest, verb), _after(old.rest, verb)
    return now is not None and then is not None and now.is_name and now.differs(then)


def _repeats(new: Reading, old: Reading, now: Value, then: Value) -> bool:
    """Check whether one statement also names the value of the other, and so may only be more precise."""
    return then.words <= {piece.text for piece in new.rest} or now.words <= {piece.text for piece in old.rest}


def _is_present(new: Reading, change: Tag) -> bool:
    """Check whether a change is current. One with a year may be history: "moved to Barcelona in 2022"."""
    return change not in new.tags or Tag.YEAR not in new.tags or Tag.NOW in new.tags


def _home(reading: Reading) -> Value | None:
    return _place(reading.rest, {Tag.LIVES, Tag.MOVED}, _HOME_LINKS)


def _work(reading: Reading) -> Value | None:
    rest = reading.rest
    for place, piece in enumerate(rest):
        if piece.tag is Tag.JOINED:
            return _value(rest[place + 1 :])
    if found := _place(rest, {Tag.WORKS}, WORK_LINKS):
        return found
    if len(rest) > 1 and rest[0].tag is Tag.IS and rest[1].tag is Tag.ARTICLE:
        return _place(rest, {Tag.IS}, WORK_LINKS)
    return None


def _place(rest: Sequence[Piece], verbs: set[Tag], links: frozenset[str]) -> Value | None:
    start = next((place for place, piece in enumerate(rest) if piece.tag in verbs), None)
    if start is None or (start + 1 < len(rest) and rest[start + 1].tag is Tag.OWNER):  # "moved her savings to Monzo"
        return None
    for place in (*range(start + 1, len(rest)), *range(start - 1, -1, -1)):
        piece = rest[place]
        if piece.tag in {Tag.COMMA, Tag.STOP, Tag.AND} and place > start:
            continue
        if piece.tag in LINKS and piece.text in links:
            return _value(rest[place + 1 :], has_article=piece.text in _LINKS_WITH_ARTICLE)
    return None


def _after(rest: Sequence[Piece], verb: Tag) -> Value | None:
    start = next((place for place, piece in enumerate(rest) if piece.tag is verb), None)
    return None if start is None else _value(_without_leading_circumstance(rest[start + 1 :]))


def _without_leading_circumstance(pieces: Sequence[Piece]) -> Sequence[Piece]:
    """Return the pieces from the value on, without "to" or "seit der Hochzeit" before it."""
    place = 0
    if pieces and pieces[0].tag is Tag.SINCE:
        place = next((at + 1 for at in range(1, len(pieces)) if pieces[at].tag in CONTENT), len(pieces))
    while place < len(pieces) and (pieces[place].tag in LINKS or pieces[place].tag in {Tag.NOW, Tag.FILLER}):
        place += 1
    return pieces[place:]


def _value(pieces: Sequence[Piece], *, has_article: bool = False) -> Value | None:
    words: list[Piece] = []
    for piece in _value_pieces(pieces):
        if piece.tag in _VALUE:
            words.append(piece)
        elif not words and piece.tag in {Tag.ARTICLE, Tag.OWNER}:
            has_article = True
    if not words:
        return None
    return Value(frozenset(piece.text for piece in words), words[0].is_name, has_article)


def _value_pieces(pieces: Sequence[Piece]) -> Iterator[Piece]:
    for piece in pieces:
        if piece.tag in _ENDS_VALUE:
            return
        yield piece


_STATUSES = (Tag.SINGLE, Tag.DATING, Tag.ENGAGED, Tag.MARRIED, Tag.PARTED)
_FOLLOWS = {
    Tag.SINGLE: {Tag.DATING, Tag.ENGAGED, Tag.MARRIED},
    Tag.DATING: {Tag.SINGLE, Tag.ENGAGED, Tag.MARRIED, Tag.PARTED},
    Tag.ENGAGED: {Tag.SINGLE, Tag.MARRIED, Tag.PARTED},
    Tag.MARRIED: {Tag.PARTED},
    Tag.PARTED: {Tag.DATING, Tag.ENGAGED, Tag.MARRIED},
}


def _status(reading: Reading) -> Tag | None:
    return next((piece.tag for piece in reading.rest if piece.tag in _STATUSES), None)


def _is_about_the_couple(new: Reading, old: Reading) -> bool:
    """Check whether both are about the same person, alone or with the named partner."""
    if not same_owner(new.owner, old.owner) or not old.subject <= new.subject:
        return False
    partners = {piece.text for piece in old.rest if piece.is_name}
    is_named = bool(old.subject) or old.owner is not None or new.owner is not None
    return is_named and new.subject - old.subject <= partners
