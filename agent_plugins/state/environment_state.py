"""The environment layer of the shared state. The host application writes it; agents only read it."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

from agent_plugins.state.plain_records import arguments_for, plain_value, to_plain
from mcp_memory_server import InvalidRequestError

LONGEST = 8000
"""In characters of a value as JSON."""


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
            InvalidRequestError: There is no such field, or the value is too long.
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
        """Return the environment as plain data."""
        plain = to_plain(self)
        if self.promotions:
            plain["promotions"] = list(self.promotions)
        return plain

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """Return the environment from plain data."""
        known = arguments_for(cls, plain)
        known["promotions"] = tuple(plain.get("promotions") or ())
        return cls(**known)


def _whole(name: str, value: Any) -> Any:
    """Return the value as plain data. A long one is refused: half a cart would mislead."""
    plain = plain_value(value, most=sys.maxsize)
    length = len(json.dumps(plain, ensure_ascii=False))
    if length > LONGEST:
        raise InvalidRequestError(
            f"{name} has {length:,} characters, at most {LONGEST:,} fit; pass only what agents act on"
        )
    return plain
