"""The memories of all owners that a scope may read, as of now: those of the user, and those beside them."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from mcp_memory_server.domain.context.page_order import Beside
from mcp_memory_server.domain.kernel.scope import Owner, OwnerKind, Scope
from mcp_memory_server.domain.recall.memories import UserSnapshot
from mcp_memory_server.domain.recall.ranked_memories import overview_of_day
from mcp_memory_server.services.kernel.user_memory_cache import UserMemoryCache
from mcp_memory_server.services.recall.owner_search import owner_labels


@dataclass(frozen=True, eq=False)
class ReadOwner:
    """The memories of one owner. The ``scope`` names it alone; ``label`` names it in a reply, None is the user."""

    scope: Scope
    label: str | None
    snapshot: UserSnapshot


@dataclass(frozen=True, eq=False)
class ReadOwners:
    """The memories of all owners of a scope."""

    owners: Sequence[ReadOwner]

    @cached_property
    def user(self) -> ReadOwner | None:
        """The user, if the scope reads the user's memories."""
        return next((one for one in self.owners if one.scope.owner.kind is OwnerKind.USER), None)

    @cached_property
    def of_user(self) -> UserSnapshot:
        """The memories of the user; none if the scope does not read them."""
        return UserSnapshot(None, {}) if self.user is None else self.user.snapshot

    @property
    def others(self) -> list[ReadOwner]:
        """The owners beside the user."""
        return [one for one in self.owners if one is not self.user]

    @property
    def known(self) -> int:
        """The number of stored memories."""
        return sum(len(one.snapshot.by_key) for one in self.owners)

    @property
    def missing(self) -> tuple[str, ...]:
        """Sentences about what could not be read."""
        return tuple(dict.fromkeys(sentence for one in self.owners for sentence in one.snapshot.missing))

    @property
    def versions_beside(self) -> tuple[tuple[Owner, int], ...]:
        """What a page made of these depends on, beside the memories of the user."""
        return tuple((one.scope.owner, one.snapshot.serial) for one in self.others)

    def beside(self, now: datetime, relevant: Mapping[Owner, Sequence[str]] | None = None) -> list[Beside]:
        """Return the memories of the owners beside the user, for a page. ``relevant`` are sort keys that come first."""
        return [
            Beside(
                one.scope.owner,
                one.label or "",
                one.snapshot,
                overview_of_day(one.snapshot, now),
                (relevant or {}).get(one.scope.owner, ()),
            )
            for one in self.others
        ]


async def read_owners(snapshots: UserMemoryCache, scope: Scope) -> ReadOwners:
    """Read the memories of all owners of the scope, side by side."""
    found = await asyncio.gather(*(snapshots.of(part) for part in scope.parts))
    labels = owner_labels(scope)
    return ReadOwners(
        [ReadOwner(part, labels[part.owner], snapshot) for part, snapshot in zip(scope.parts, found, strict=True)]
    )
