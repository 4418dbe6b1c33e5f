"""ULIDs: ids in time order that rise strictly within a session, whatever the clock does."""

import re
import secrets
from datetime import UTC, datetime

LENGTH = 26

_LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_VALUES = {letter: value for value, letter in enumerate(_LETTERS)}
_RANDOM_BITS = 80
_TIME_BITS = 48
_TIME_LETTERS = 10
# New ids start in the lower half of the random part, so that counting up from one never runs into the next millisecond.
_START_BITS = _RANDOM_BITS - 1
_STEP_BITS = 48
_SHIFTS = range(_RANDOM_BITS + _TIME_BITS - 3, -1, -5)
_ULID = re.compile(rf"[0-7][{_LETTERS}]{{{LENGTH - 1}}}")


def ulid_after(last: str | None, now: datetime) -> str:
    """Return an id of this moment that sorts after the last one, even if the clock stepped back since."""
    fresh = int(now.timestamp() * 1000) << _RANDOM_BITS | secrets.randbits(_START_BITS)
    if last is not None and (before := _number(last)) >= fresh:
        # A random step, because two writers that know the same last id must not both choose the next one.
        fresh = before + 1 + secrets.randbits(_STEP_BITS)
    return _text(fresh)


def next_ulid(last: str) -> str:
    """Return the id right after this one, for a store that lets one writer at a time choose."""
    return _text(_number(last) + 1)


def ulid_before(first: str) -> str:
    """Return the id right before this one."""
    return _text(max(0, _number(first) - 1))


def first_ulid_of(moment: datetime) -> str:
    """Return the lowest id of this moment."""
    return _text(max(0, int(moment.timestamp() * 1000)) << _RANDOM_BITS)


def moment_of(ulid: str) -> datetime:
    """Return the moment at which an id was made, to the millisecond."""
    return datetime.fromtimestamp(_number(ulid[:_TIME_LETTERS]) / 1000, UTC)


def is_ulid(text: str) -> bool:
    """Check whether the text is an id in the canonical form."""
    return _ULID.fullmatch(text) is not None


def _text(number: int) -> str:
    if number >> (_RANDOM_BITS + _TIME_BITS):
        raise OverflowError("no more ids: the clock is past the year 10889")
    return "".join([_LETTERS[number >> shift & 31] for shift in _SHIFTS])


def _number(ulid: str) -> int:
    number = 0
    for letter in ulid:
        number = number << 5 | _VALUES[letter]
    return number
