"""What surrounds a conversation, as the host application knows it. Agents read it; only the host changes it."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

from agent_plugins.state.plain_records import arguments_of, kept, to_plain
from mcp_memory_server import InvalidRequestError

LONGEST = 8000
"""Characters of one value, written as JSON."""


@dataclass(frozen=True)
class Environment:
    """The user's locale, language and tier, the cart, and promotions that apply."""

    locale: str | None = None
    language: str | None = None
    tier: str | None = None
    cart: Any = None
    promotions: Sequence[Any] = ()
    more: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def updated(self, changes: Mapping[str, Any]) -> "Environment":
        """Return the environment with other values.

        Raises:
            InvalidRequestError: There is no field of that name, or it is too long.
        """
        names = [each.name for each in fields(self) if each.name != "more"]
        for name in changes:
            if name not in names:
                raise InvalidRequestError(f"an environment has no {name!r}; it has {', '.join(names)}")
        values = {name: _whole(name, value) for name, value in changes.items()}
        if "promotions" in values:
            values["promotions"] = tuple(values["promotions"] or ())
        return replace(self, **values)

    def to_plain(self) -> dict[str, Any]:
        """Return it as plain data."""
        plain = to_plain(self)
        if self.promotions:
            plain["promotions"] = list(self.promotions)
        return plain

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """Return the environment that was written down."""
        known = arguments_of(cls, plain)
        known["promotions"] = tuple(plain.get("promotions") or ())
        return cls(**known)


def _whole(name: str, value: Any) -> Any:
    """Return the value as plain data. A cart that is cut in the middle would mislead, so a long one is refused."""
    plain = kept(value, most=sys.maxsize)
    length = len(json.dumps(plain, ensure_ascii=False))
    if length > LONGEST:
        raise InvalidRequestError(f"{name} has {length:,} characters, at most {LONGEST:,} fit; tell what agents act on")
    return plain
