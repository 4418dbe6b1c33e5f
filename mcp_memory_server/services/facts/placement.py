"""Choose the owner to whom a statement belongs, where a scope names several. No argument of a model names one."""

import asyncio
from collections.abc import Sequence

from mcp_memory_server.domain.facts.essentials import essential_of
from mcp_memory_server.domain.facts.fact import Standing, Statement
from mcp_memory_server.domain.kernel.scope import Owner, OwnerKind, Scope
from mcp_memory_server.domain.recall.memories import UserSnapshot
from mcp_memory_server.domain.recall.memory_ids import resolved_id
from mcp_memory_server.errors import InvalidRequestError, NotPermittedError
from mcp_memory_server.services.kernel.user_memory_cache import UserMemoryCache


async def scope_of_statement(
    snapshots: UserMemoryCache, scope: Scope, statement: Statement, replaced_ids: Sequence[str]
) -> Scope:
    """Return the scope of the one owner that the statement is written to.

    A correction stays with what it corrects, and a sentence that is stored already stays where it is. What says who the
    user is belongs to the user, also in a project. Everything else goes to the owner of new facts.

    Raises:
        NotPermittedError: It replaces a fact that may only be read.
        InvalidRequestError: It replaces facts of several owners.
    """
    if not scope.reads:
        return scope
    stored = await _snapshots(snapshots, scope)
    if replaced_ids:
        return scope.only(_owner_of_all(scope, stored, replaced_ids))
    for owner in scope.writable:
        if _holds_statement(stored[owner], statement):
            return scope.only(owner)
    user = Owner.user(scope.user_id)
    if scope.owner.kind is OwnerKind.PROJECT and user in scope.reads and essential_of(None, statement.text) is not None:
        return scope.only(user)
    return scope.only(scope.owner)


async def scopes_of_memory(snapshots: UserMemoryCache, scope: Scope, memory_id: str) -> list[Scope]:
    """Return the scopes of the owners that hold this memory and may be written to; none if no owner holds it.

    Raises:
        NotPermittedError: Only an owner that may only be read holds it.
    """
    if not scope.reads:
        return [scope]
    stored = await _snapshots(snapshots, scope)
    holding = [owner for owner, snapshot in stored.items() if _holds_id(snapshot, memory_id)]
    writable = [owner for owner in holding if owner in scope.writable]
    if holding and not writable:
        raise _only_read(holding[0], memory_id)
    return [scope.only(owner) for owner in writable]


async def _snapshots(snapshots: UserMemoryCache, scope: Scope) -> dict[Owner, UserSnapshot]:
    read = await asyncio.gather(*(snapshots.of(each) for each in scope.parts))
    return dict(zip(scope.readable, read, strict=True))


def _owner_of_all(scope: Scope, stored: dict[Owner, UserSnapshot], ids: Sequence[str]) -> Owner:
    holding = {one: [owner for owner in scope.readable if _holds_id(stored[owner], one)] for one in ids}
    for one, owners in holding.items():
        if owners and not set(owners) & set(scope.writable):
            raise _only_read(owners[0], one)
    known = [set(owners) for owners in holding.values() if owners]
    common = [owner for owner in scope.writable if all(owner in owners for owners in known)]
    if not common:
        raise InvalidRequestError("one fact cannot replace facts of several owners; correct those of each one by one")
    return common[0]


def _only_read(owner: Owner, memory_id: str) -> NotPermittedError:
    return NotPermittedError(f"{memory_id[:80]!r} belongs to {owner.label}, which is only read here")


def _holds_id(snapshot: UserSnapshot, memory_id: str) -> bool:
    given = resolved_id(memory_id, snapshot)
    return any(memory.id.casefold() == given.casefold() for memory in snapshot.rows)


def _holds_statement(snapshot: UserSnapshot, statement: Statement) -> bool:
    facts = (memory.fact for memory in snapshot.rows if memory.id == statement.fingerprint)
    return any(fact is not None and fact.standing is not Standing.PAST for fact in facts)
