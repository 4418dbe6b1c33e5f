"""The environment layer of the shared state. The host application writes it; agents only read it."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from agent_plugins.state.plain_records import arguments_for, plain_value, to_plain
from mcp_memory_server import InvalidRequestError

LONGEST = 8000
"""In characters of a value as JSON."""
MOST_OWN_FIELDS = 30
_NAMES = ("locale", "language", "tier", "cart", "promotions")


@dataclass(frozen=True)
class Environment:
    """Locale, language and tier of the user, the cart, and promotions; ``more`` has fields of the host's own."""

    locale: str | None = None
    language: str | None = None
    tier: str | None = None
    cart: Any = None
    promotions: Sequence[Any] = ()
    more: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __getitem__(self, name: str) -> Any:
        """Return the value of a field, also of one of the host's own; None if it has none."""
        return getattr(self, name) if name in _NAMES else self.more.get(name)

    def updated(self, changes: Mapping[str, Any]) -> "Environment":
        """Return the environment with other values. A field of the host's own is removed with None.

        Raises:
            InvalidRequestError: A value is too long, or there are too many fields.
        """
        values = {name: _whole(name, value) for name, value in changes.items()}
        named = {name: value for name, value in values.items() if name in _NAMES}
        if "promotions" in named:
            named["promotions"] = tuple(named["promotions"] or ())
        own = {
            name: value for name, value in {**self.more, **values}.items() if name not in _NAMES and value is not None
        }
        if len(own) > MOST_OWN_FIELDS:
            raise InvalidRequestError(
                f"an environment has at most {MOST_OWN_FIELDS} fields of the host's own, got {len(own)}; "
                "set those to None that agents no longer act on"
            )
        return replace(self, **named, more=own)

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
