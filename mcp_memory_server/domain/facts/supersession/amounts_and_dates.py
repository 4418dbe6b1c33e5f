"""Recognise a new value of the same quantity, date or attribute."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from mcp_memory_server.domain.facts.supersession.reading import (
    CONTENT,
    LINKS,
    Piece,
    Reading,
    may_be_several,
    same_owner,
    same_subject,
)
from mcp_memory_server.domain.facts.supersession.word_tags import Tag, word_set

_LONGEST_VALUE = 4
_COUNTED = frozenset({Tag.IS, Tag.AMOUNTS, Tag.HAS, Tag.HOLDS})
_SCHEDULED = frozenset({Tag.IS, Tag.DUE, Tag.HAPPENS})
_WHEN = frozenset({Tag.TIME, Tag.NUMBER, Tag.YEAR})
_MOVED = frozenset({Tag.CHANGED, Tag.MOVED, Tag.NOW})
_CLOCK_LINKS = frozenset({"at", "um", "las", "à"})
_DAILY = frozenset({"goes to bed", "gets up", "wakes up", "se acuesta", "se levanta", "se lève", "se couche"})
_OVER = frozenset({"over", "zu", "sobre", "sur"})
_RUNS = frozenset({"runs", "run", "läuft", "corre"})
_PAID_AGAIN = frozenset({"rent", "miete", "alquiler", "loyer", "salary", "gehalt", "sueldo", "salaire"})
_TITLES = word_set("dr mr mrs ms prof frau herr señor señora mme m")
_PROMOTED = ("promoted", "was promoted", "got promoted", "has been promoted", "befördert", "ascend", "fue ascend")
# With these verbs a second value is common even if the rest of the sentence is the same.
_OFTEN_SEVERAL = word_set("takes take nimmt toma prend gets bekommt reads read follows wears needs")


def is_another_amount(new: Reading, old: Reading) -> bool:
    """Check whether the same quantity has another number."""
    verb, earlier = new.verb, old.verb
    if verb is None or earlier is None or earlier.tag not in _COUNTED or not same_subject(new, old):
        return False
    if may_be_several(new) and not new.tags & _MOVED:
        return False
    if (Tag.TIME in new.tags | old.tags and not _same_times(new, old)) or _years(new) != _years(old):
        return False
    numbers, old_numbers = _numbers(new.rest), _numbers(old.rest)
    if not numbers or numbers == old_numbers or len(numbers) != len(old_numbers):
        return False
    if len(numbers) > 1 and not _is_pair(new) and sum(a != b for a, b in zip(numbers, old_numbers, strict=True)) > 1:
        return False
    if Tag.CHANGED in new.tags:
        return _units(new) <= _units(old) or _units(old) <= _units(new)
    return _units(new) == _units(old) and _is_countable(new, verb) and _is_countable(old, earlier)


def is_another_date(new: Reading, old: Reading) -> bool:
    """Check whether the same event or deadline has another date or time."""
    if not new.subject or not old.tags & _SCHEDULED or _when(new) == _when(old) or not _when(new) or not _when(old):
        return False
    if not _same_event(new, old) or new.subject & _PAID_AGAIN:
        return False
    if new.tags & _MOVED:
        return True
    if _other_words(new) != _other_words(old) or new.verb is None or new.verb.tag not in _SCHEDULED:
        return False
    is_one_event = bool(new.subject_tags & {Tag.EVENT, Tag.DEADLINE}) or Tag.DUE in new.tags & old.tags
    return is_one_event or (_same_times(new, old) and Tag.TIME in new.tags)


def is_another_version(new: Reading, old: Reading) -> bool:
    """Check whether something was upgraded, or the person promoted."""
    if Tag.CHANGED not in new.tags or not same_subject(new, old) or not old.tags & {Tag.IS, Tag.HOLDS, Tag.WORKS}:
        return False
    if any(piece.tag is Tag.CHANGED and piece.text.startswith(_PROMOTED) for piece in new.rest):
        return bool({p.text for p in new.rest if p.tag is Tag.WORD} & {p.text for p in old.rest if p.tag is Tag.WORD})
    versions, old_versions = _versions(new.rest), _versions(old.rest)
    return any(versions[name] != old_versions[name] for name in versions.keys() & old_versions.keys())


def _versions(rest: Sequence[Piece]) -> dict[str, str]:
    """Return the numbers that follow a name: Postgres 14."""
    return {
        piece.text: following.text
        for piece, following in pairwise(rest)
        if piece.tag is Tag.WORD and piece.is_name and following.tag is Tag.NUMBER
    }


def is_another_attribute(new: Reading, old: Reading) -> bool:
    """Check whether an attribute that exists once, such as an address or a favourite colour, has another value."""
    for owner, key, value in _attributes(new):
        for old_owner, old_key, old_value in _attributes(old):
            if key == old_key and same_owner(owner, old_owner) and _is_other_value(value, old_value, new, old):
                return True
    return False


def is_same_frame(new: Reading, old: Reading, *, is_single: bool) -> bool:
    """Check whether the sentences differ in one value, and there can be only one."""
    verb, earlier = new.verb, old.verb
    if verb is None or earlier is None or verb[:2] != earlier[:2] or not same_subject(new, old):
        return False
    if verb.tag not in {Tag.HOLDS, Tag.PREFERS, Tag.IS} or verb.text in _OFTEN_SEVERAL:
        return False
    value, old_value, shared = _difference(_frame(new), _frame(old))
    if not value or not old_value or max(len(value), len(old_value)) > _LONGEST_VALUE:
        return False
    if Tag.NOW in new.tags and verb.tag is not Tag.IS:
        return any(piece.tag is Tag.WORD for piece in shared)
    is_alike = _has_article(new) == _has_article(old) and _shape(value) == _shape(old_value) == "name"
    return is_single and is_alike and not may_be_several(new)


def _difference(new: Sequence[Piece], old: Sequence[Piece]) -> tuple[Sequence[Piece], Sequence[Piece], Sequence[Piece]]:
    """Return where the sequences differ, and the pieces that they share around it."""
    begin = 0
    while begin < min(len(new), len(old)) and new[begin].text == old[begin].text:
        begin += 1
    end = 0
    while end < min(len(new), len(old)) - begin and new[-1 - end].text == old[-1 - end].text:
        end += 1
    return new[begin : len(new) - end], old[begin : len(old) - end], (*new[:begin], *new[len(new) - end :])


def _frame(reading: Reading) -> list[Piece]:
    left_out = {Tag.NOW, Tag.AGAIN, Tag.FILLER, Tag.STOP, Tag.ARTICLE}
    return [piece for piece in reading.rest if piece.tag not in left_out]


def _numbers(pieces: Sequence[Piece]) -> list[str]:
    return [piece.text for piece in pieces if piece.tag is Tag.NUMBER]


def _years(reading: Reading) -> set[str]:
    return {piece.text for piece in reading.rest if piece.tag is Tag.YEAR}


def _same_times(new: Reading, old: Reading) -> bool:
    return {p.text for p in new.rest if p.tag is Tag.TIME} == {p.text for p in old.rest if p.tag is Tag.TIME}


def _units(reading: Reading) -> set[str]:
    """Return what is counted, with the relevant prepositions."""
    return {piece.text for piece in _without_since(reading.rest) if piece.tag in CONTENT - {Tag.NUMBER, Tag.TIME}}


def _without_since(rest: Sequence[Piece]) -> Iterator[Piece]:
    for piece in rest:
        if piece.tag is Tag.SINCE:
            return
        yield piece


def _is_countable(reading: Reading, verb: Piece) -> bool:
    """Check whether the number is a quantity of the subject, not part of a name, a date or an appointment."""
    rest = reading.rest
    place = next(place for place, piece in enumerate(rest) if piece.tag is Tag.NUMBER)
    before = rest[place - 1] if place else None
    if before is not None and before.tag in LINKS and before.text in _CLOCK_LINKS:
        return verb.text in _DAILY
    if ":" in rest[place].text:
        return bool(reading.subject_tags & {Tag.ATTRIBUTE})
    if verb.tag in {Tag.IS, Tag.AMOUNTS}:
        return verb.tag is Tag.AMOUNTS or not _has_month(rest)
    if verb.text in _RUNS:
        return True
    return before is not None and (before.tag in {Tag.HAS, Tag.HOLDS, Tag.OWNER, Tag.FILLER})


def _is_pair(reading: Reading) -> bool:
    """Check whether two numbers are one value, as in a blood pressure."""
    return Tag.ATTRIBUTE in reading.subject_tags or any(piece.text in _OVER for piece in reading.rest)


def _has_month(rest: Sequence[Piece]) -> bool:
    return any(piece.tag is Tag.TIME for piece in rest)


def _when(reading: Reading) -> list[str]:
    """Return the words of the date; none if there is no date."""
    rest = reading.rest
    is_date = any(piece.tag is Tag.TIME or (piece.tag is Tag.NUMBER and ":" in piece.text) for piece in rest)
    is_clock = any(
        piece.tag in LINKS and piece.text in _CLOCK_LINKS and following.tag is Tag.NUMBER
        for piece, following in pairwise(rest)
    )
    return [piece.text for piece in rest if piece.tag in _WHEN] if is_date or is_clock else []


def _same_event(new: Reading, old: Reading) -> bool:
    if same_subject(new, old):
        return True
    deadlines = {piece.text for piece in (*new.pieces, *old.pieces) if piece.tag is Tag.DEADLINE}
    event, old_event = new.subject - deadlines, old.subject - deadlines
    return bool(event) and event == old_event and bool(deadlines) and same_owner(new.owner, old.owner)


def _other_words(reading: Reading) -> set[str]:
    return {piece.text for piece in reading.rest if piece.tag in CONTENT - _WHEN}


_Attribute = tuple[str | None, frozenset[str], list[Piece]]


def _attributes(reading: Reading) -> Iterator[_Attribute]:
    rest = reading.rest
    nouns = {Tag.PERSON, Tag.ATTRIBUTE, Tag.FAVOURITE}
    if reading.subject_tags & nouns and rest and rest[0].tag in {Tag.IS, Tag.COLON, Tag.CHANGED}:
        yield reading.owner, reading.subject, _value(rest[1:])
    if reading.owner is None or reading.subject or not reading.tags & {Tag.CHANGED, Tag.HAS, Tag.MANY}:
        return
    for place, piece in enumerate(rest):
        if piece.tag is Tag.ATTRIBUTE and (Tag.NEW in reading.tags or Tag.CHANGED in reading.tags):
            yield reading.owner, frozenset({piece.text}), _value(rest[place + 1 :])


def _value(pieces: Sequence[Piece]) -> list[Piece]:
    """Return the words of the value; none if it is a property instead: "is in Baker Street"."""
    place = 0
    while place < len(pieces) and pieces[place].tag in {Tag.NOW, Tag.COMMA, Tag.COLON, Tag.TO, Tag.FILLER, Tag.ARTICLE}:
        place += 1
    if place == len(pieces) or pieces[place].tag not in CONTENT:
        return []
    end = next((at for at in range(place, len(pieces)) if pieces[at].tag in {Tag.STOP, Tag.SINCE}), len(pieces))
    return [piece for piece in pieces[place:end] if piece.tag in CONTENT]


def _is_other_value(value: list[Piece], old: list[Piece], new: Reading, earlier: Reading) -> bool:
    texts, old_texts = {piece.text for piece in value}, {piece.text for piece in old}
    if not value or not old or texts <= old_texts or old_texts <= texts or _has_article(new) != _has_article(earlier):
        return False
    if _shape(value) != _shape(old) or ("name" in new.subject and len(new.subject) > 1):
        return False
    if Tag.PERSON in new.subject_tags:
        is_full = (len(value) > 1 and value[1].is_name) or value[0].text in _TITLES
        return value[0].is_name and (is_full or bool(new.tags & {Tag.NEW, Tag.NOW, Tag.SINCE}))
    return value[0].is_name or _shape(value) == "number" or Tag.FAVOURITE in new.subject_tags


def _has_article(reading: Reading) -> bool:
    return any(piece.tag is Tag.ARTICLE for piece in reading.rest)


def _shape(value: Sequence[Piece]) -> str:
    first = value[0]
    if first.tag is Tag.NUMBER or "@" in first.text:
        return "number"
    return "name" if first.is_name else "noun"
