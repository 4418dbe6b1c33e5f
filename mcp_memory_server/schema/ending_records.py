"""How a session ends: when somebody has to look, who sums it up now, and how far that was done.

One item of the session's own partition, so that whatever takes the session away takes it along. The index lists it by
the day on which somebody has to look (``ENDINGS#<day>``, in the order of time), for as long as that is to be done.

A claim is the version of the item: whoever claims raises it, and what is written at the end is written only if the
version is still that one. So the claim of somebody who was taken for dead is worth nothing, whatever they still do.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime

from mcp_memory_server.domain.kernel.items import INDEX_PARTITION, INDEX_SORT, Item, Key, Update, Value
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.limits import Tier
from mcp_memory_server.domain.sessions.turns import LIFE
from mcp_memory_server.schema.keys import encoded, timestamp
from mcp_memory_server.schema.records import moment_or_none, optional_text
from mcp_memory_server.schema.turn_records import session_partition

ENDING = "#ENDING"

_DUE, _TIER, _OWNER, _UNTIL, _UPTO, _TIMES, _ENDED = "due", "tier", "owner", "until", "upto", "times", "ended"


@dataclass(frozen=True)
class Ending:
    """What is known of a session's end.

    ``upto`` is the last turn that is summed up, ``times`` how often that was done. ``ended`` says that the session was
    ended by its caller when its last turn was this one: nobody waits for its deadline then.
    """

    version: int = 0
    due: datetime | None = None
    tier: Tier = Tier.STANDARD
    owner: str | None = None
    claimed_until: datetime | None = None
    upto: str = ""
    times: int = 0
    ended: datetime | None = None

    def is_held(self, by_others_than: str, now: datetime) -> bool:
        """Tell whether somebody else is at it."""
        return self.owner not in (None, by_others_than) and self.claimed_until is not None and now < self.claimed_until


def ending_key(scope: Scope) -> Key:
    """Return where it lies how a session ends."""
    return Key(session_partition(scope), ENDING)


def endings_index(day: date) -> str:
    """Return under which name the index lists the sessions that somebody has to look at on this day."""
    return f"ENDINGS#{day.isoformat()}"


def ending_from(item: Item | None) -> Ending:
    """Read how a session ends; without the item nothing is known of it."""
    if item is None:
        return Ending()
    body = item.body
    times = body.get(_TIMES)
    return Ending(
        version=item.version,
        due=moment_or_none(body.get(_DUE)),
        tier=Tier(body[_TIER]) if body.get(_TIER) in set(Tier) else Tier.STANDARD,
        owner=optional_text(body, _OWNER),
        claimed_until=moment_or_none(body.get(_UNTIL)),
        upto=optional_text(body, _UPTO) or "",
        times=times if isinstance(times, int) else 0,
        ended=moment_or_none(body.get(_ENDED)),
    )


def listed(
    scope: Scope,
    due: datetime,
    now: datetime,
    *,
    tier: Tier | None = None,
    ended: datetime | None = None,
    expected_version: int | None = None,
) -> Update:
    """Return the write by which somebody looks at the session at that time."""
    place = f"{timestamp(due)}#{encoded(scope.user_id)}#{encoded(scope.session_id or '')}"
    said: dict[str, Value] = {
        INDEX_PARTITION: endings_index(due.astimezone(UTC).date()),
        INDEX_SORT: place,
        _DUE: timestamp(due),
    }
    said |= {} if tier is None else {_TIER: tier.value}
    said |= {} if ended is None else {_ENDED: timestamp(ended)}
    return _change(scope, now, said, expected_version)


def claimed(scope: Scope, owner: str, until: datetime, now: datetime, *, expected_version: int) -> Update:
    """Return the write by which the session is this owner's to sum up, until then."""
    return _change(scope, now, {_OWNER: owner, _UNTIL: timestamp(until)}, expected_version)


def finished(scope: Scope, upto: str, now: datetime, *, expected_version: int, summed_up: bool) -> Update:
    """Return the write that ends a claim: everything up to this turn is seen to, and nobody has to look any more."""
    return Update(
        ending_key(scope),
        add={_TIMES: int(summed_up)},
        set={_UPTO: upto},
        remove=(INDEX_PARTITION, INDEX_SORT, _DUE, _OWNER, _UNTIL, _ENDED),
        expected_version=expected_version,
        expires_at=now + LIFE,
    )


def _change(scope: Scope, now: datetime, said: Mapping[str, Value], expected_version: int | None) -> Update:
    return Update(ending_key(scope), set=said, expected_version=expected_version, expires_at=now + LIFE)
