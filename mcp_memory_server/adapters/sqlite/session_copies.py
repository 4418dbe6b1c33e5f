"""Copies of sessions: when one begins, is whole, and takes a turn. All of it runs in one transaction."""

import json
import secrets
import sqlite3
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from mcp_memory_server.adapters.sqlite import session_rows as rows
from mcp_memory_server.adapters.sqlite.session_rows import CachedRow, Owner
from mcp_memory_server.domain.kernel.ulids import next_ulid
from mcp_memory_server.domain.sessions.cached_session import (
    Appended,
    CachedSession,
    CacheMiss,
    joined,
    state_text,
    within,
)
from mcp_memory_server.domain.sessions.limits import MAX_RECORDED_TURNS, Limits, Tier, lifetime
from mcp_memory_server.domain.sessions.turns import Turn


@dataclass(frozen=True)
class Standpoint:
    """From where a copy is looked at: this start of the machine, the caller's epoch, and when."""

    run: str
    epoch: int
    now: datetime
    settling: timedelta

    @property
    def moment(self) -> int:
        """The time in milliseconds."""
        return round(self.now.timestamp() * 1000)

    def is_current(self, copy: CachedRow) -> bool:
        """Tell whether the copy is of this run and this epoch."""
        return (copy.run, copy.epoch) == (self.run, self.epoch)

    def has_settled(self, copy: CachedRow) -> bool:
        """Tell whether every turn that was on its way when the copy began has arrived."""
        return timedelta(milliseconds=self.moment - copy.since) >= self.settling

    def stands(self, copy: CachedRow) -> bool:
        """Tell whether a turn belongs into the copy. One of a later epoch is there for others, and must not miss it."""
        return copy.run == self.run and copy.epoch >= self.epoch


@dataclass(frozen=True)
class Rules:
    """Under what rules a turn is added or a copy filled, and when."""

    tier: Tier
    limits: Limits
    now: datetime


def append(
    connection: sqlite3.Connection,
    owner: Owner,
    turn: Turn,
    *,
    operation: str,
    after: str | None,
    rules: Rules,
    seen: Standpoint,
) -> Appended | None:
    """Append the turn and trim, unless the operation is known, or the order of ids is not."""
    copy = rows.read_cached(connection, owner, seen.now)
    if copy is not None and (answer := rows.answer_of(connection, owner, operation)) is not None:
        return answer
    if after is None and not (copy is not None and copy.whole and seen.is_current(copy)):
        return None
    if copy is None or not seen.stands(copy):
        copy = _begun(connection, owner, copy, seen)
    newest = max(copy.last, after or "")
    turn_id = turn.id if turn.id > newest else next_ulid(newest)
    return _put(connection, owner, copy, replace(turn, id=turn_id), operation=operation, rules=rules, seen=seen)


def note(
    connection: sqlite3.Connection, owner: Owner, turn: Turn, *, operation: str, rules: Rules, seen: Standpoint
) -> None:
    """Put the turn into its place, unless it is known or there is no copy."""
    copy = rows.read_cached(connection, owner, seen.now)
    if copy is None:
        return
    known = rows.answer_of(connection, owner, operation)
    # Somebody may still serve a copy of an earlier epoch, for as long as a look at the table lasts. And a turn may have
    # been put here under an id that its writer never heard of, and was then given another one.
    if not seen.stands(copy) or (known is not None and known.turn_id != turn.id):
        copy = _begun(connection, owner, copy, seen)
    elif known is not None or rows.is_known(connection, owner, turn.id):
        return
    _put(connection, owner, copy, turn, operation=operation, rules=rules, seen=seen)


def load(connection: sqlite3.Connection, owner: Owner, seen: Standpoint) -> CachedSession | CacheMiss | None:
    """Return the copy, or what it takes to fill it; None if one has to be begun for that."""
    copy = rows.read_cached(connection, owner, seen.now)
    if copy is not None and copy.epoch > seen.epoch:
        return CacheMiss("", may_be_filled=False)
    if copy is None or not seen.is_current(copy):
        return None
    if not copy.whole:
        return CacheMiss(copy.token, may_be_filled=seen.has_settled(copy))
    try:
        turns = rows.cached_turns(connection, owner)
    except ValueError:
        return None
    tokens = sum(turn.token_count for turn in turns)
    return CachedSession(turns, copy.count, tokens, copy.total_tokens, json.loads(copy.summary), copy.gap)


def load_or_begin(connection: sqlite3.Connection, owner: Owner, seen: Standpoint) -> CachedSession | CacheMiss:
    """Return the copy, or what it takes to fill it; a copy is begun for that where it must."""
    if (found := load(connection, owner, seen)) is not None:
        return found
    copy = _begun(connection, owner, rows.read_cached(connection, owner, seen.now), seen)
    return CacheMiss(copy.token, may_be_filled=seen.has_settled(copy))


def fill(
    connection: sqlite3.Connection, owner: Owner, table: CachedSession, *, token: str, rules: Rules, seen: Standpoint
) -> bool:
    """Make the copy whole from what the table holds and what was recorded, if that may be done."""
    copy = rows.read_cached(connection, owner, seen.now)
    if copy is None or not seen.is_current(copy):
        return False
    if copy.whole:
        return True
    if copy.token != token or not seen.has_settled(copy):
        return False
    full = _completed(connection, owner, table, rules.limits)
    rows.delete_turns(connection, owner)
    rows.insert_turns(connection, owner, full.turns)
    newest = full.turns[-1].id if full.turns else ""
    copy = replace(
        copy,
        whole=True,
        count=full.count,
        total_tokens=full.total_tokens,
        last=max(copy.last, newest),
        gap=full.gap,
        summary=state_text(full.summary),
    )
    _save(connection, owner, copy, rules)
    return True


def _begun(connection: sqlite3.Connection, owner: Owner, before: CachedRow | None, seen: Standpoint) -> CachedRow:
    rows.delete_cached(connection, owner)
    # Ids go on rising: turns of the copy that was there may still be on their way to the table.
    last = "" if before is None else before.last
    copy = CachedRow(seen.run, seen.epoch, seen.moment, secrets.token_hex(16), last=last)
    rows.save_cached(connection, owner, copy, seen.now + lifetime(Tier.STANDARD, 0))
    return copy


def _put(
    connection: sqlite3.Connection,
    owner: Owner,
    copy: CachedRow,
    turn: Turn,
    *,
    operation: str,
    rules: Rules,
    seen: Standpoint,
) -> Appended:
    if not copy.whole and copy.count >= MAX_RECORDED_TURNS:
        # So many are recorded only where nobody ever fills the copy. Whoever is about to is refused.
        copy = _begun(connection, owner, copy, seen)
    if not copy.whole:
        rows.record(connection, owner, turn)
    rows.insert_turns(connection, owner, [turn])
    gone, tokens = rows.make_room(connection, owner, rules.limits)
    count = copy.count + 1
    answer = Appended(turn.id, count if copy.whole else 0, tokens, trimmed=gone)
    rows.remember(connection, owner, operation, copy.added, answer)
    copy = replace(
        copy,
        count=count,
        total_tokens=copy.total_tokens + turn.token_count,
        last=max(copy.last, turn.id),
        gap=max(copy.gap, *(one.id for one in gone), ""),
        added=copy.added + 1,
    )
    _save(connection, owner, copy, rules)
    return answer


def _completed(connection: sqlite3.Connection, owner: Owner, table: CachedSession, limits: Limits) -> CachedSession:
    """Return what the table holds with what was recorded and is missing there, within the limits."""
    given = {turn.id for turn in table.turns}
    # What is not later than the table's gap and not given was in the table and was left out, and is counted already.
    missing = [
        (one, tokens) for one, tokens in rows.recorded(connection, owner) if one not in given and one > table.gap
    ]
    at_hand = {turn.id: turn for turn in rows.cached_turns(connection, owner)}
    made_way = [(one, tokens) for one, tokens in missing if one not in at_hand]
    full = within(limits, joined(table, [at_hand[one] for one, _ in missing if one in at_hand]))
    return replace(
        full,
        count=full.count + len(made_way),
        total_tokens=full.total_tokens + sum(tokens for _, tokens in made_way),
        gap=max(full.gap, *(one for one, _ in made_way), ""),
    )


def _save(connection: sqlite3.Connection, owner: Owner, copy: CachedRow, rules: Rules) -> None:
    life = lifetime(rules.tier, copy.count)
    rows.save_cached(connection, owner, copy, rules.now + life)
    rows.keep_alive(connection, owner, life, rules.now)
