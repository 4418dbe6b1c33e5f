"""The finalization record of a session: when it is due, which process holds the lease, and how far it is summarized.

It is one item in the session's own partition, so it is erased with the session. While the session is due, the index
lists the item under its day (``ENDINGS#<day>``), in the order of time.

The version of the item is the fencing token: taking the lease raises it, and the result is written only if the version
is still the same. A process that lost its lease therefore cannot overwrite the result of its successor.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
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
    """The state of a session's finalization.

    ``upto`` is the last summarized turn, ``times`` how often the session was summarized. ``ended`` is the time of the
    last turn when the caller ended the session, so that nobody waits for its idle deadline.
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
        """Return whether another owner holds an unexpired lease."""
        return self.owner not in (None, by_others_than) and self.claimed_until is not None and now < self.claimed_until


def ending_key(scope: Scope) -> Key:
    """Return the key of the finalization record."""
    return Key(session_partition(scope), ENDING)


def endings_index(day: date) -> str:
    """Return the index partition that lists the sessions due on this day."""
    return f"ENDINGS#{day.isoformat()}"


def ending_from(item: Item | None) -> Ending:
    """Decode the finalization record; the defaults if there is no item."""
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
    """Return the write that makes the session due at this time."""
    place = f"{timestamp(due)}#{encoded(scope.user_id)}#{encoded(scope.session_id or '')}"
    attributes: dict[str, Value] = {
        INDEX_PARTITION: endings_index(due.astimezone(UTC).date()),
        INDEX_SORT: place,
        _DUE: timestamp(due),
    }
    attributes |= {} if tier is None else {_TIER: tier.value}
    attributes |= {} if ended is None else {_ENDED: timestamp(ended)}
    return _change(scope, now, attributes, expected_version)


def restored(scope: Scope, ending: Ending, now: datetime) -> Update:
    """Return the write of the record of a session that was moved here, refused if there is one. Leases do not move."""
    if ending.due is None:
        unlisted = Update(ending_key(scope), expected_version=0, expires_at=now + LIFE, set={_TIER: ending.tier.value})
    else:
        unlisted = listed(scope, ending.due, now, tier=ending.tier, ended=ending.ended, expected_version=0)
    upto = {_UPTO: ending.upto} if ending.upto else {}  # some engines refuse an empty text
    return replace(unlisted, add={_TIMES: ending.times}, set={**unlisted.set, **upto})


def claimed(scope: Scope, owner: str, until: datetime, now: datetime, *, expected_version: int) -> Update:
    """Return the write by which this owner takes the lease until the given time."""
    return _change(scope, now, {_OWNER: owner, _UNTIL: timestamp(until)}, expected_version)


def finished(scope: Scope, upto: str, now: datetime, *, expected_version: int, summed_up: bool) -> Update:
    """Return the write that ends a lease: everything up to this turn is processed, and the session is no longer due."""
    return Update(
        ending_key(scope),
        add={_TIMES: int(summed_up)},
        set={_UPTO: upto},
        remove=(INDEX_PARTITION, INDEX_SORT, _DUE, _OWNER, _UNTIL, _ENDED),
        expected_version=expected_version,
        expires_at=now + LIFE,
    )


def _change(scope: Scope, now: datetime, attributes: Mapping[str, Value], expected_version: int | None) -> Update:
    return Update(ending_key(scope), set=attributes, expected_version=expected_version, expires_at=now + LIFE)
