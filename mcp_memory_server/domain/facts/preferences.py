"""Preferences: how the user wants things done."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from mcp_memory_server.domain.kernel.scope import check_id
from mcp_memory_server.domain.kernel.text import checked_text

MAX_VALUE_BYTES = 2 * 1024


class SetBy(StrEnum):
    """Who chose the value. A default never overwrites a choice of the user."""

    USER = "user"
    DEFAULT = "default"


@dataclass(frozen=True)
class Preference:
    """One way in which the user wants things done."""

    key: str
    value: str
    set_by: SetBy
    set_at: datetime

    def __post_init__(self) -> None:
        check_id("preference key", self.key)
        object.__setattr__(self, "value", checked_text("preference value", self.value, MAX_VALUE_BYTES))


@dataclass(frozen=True)
class PreferenceChange:
    """The result of setting a preference: the value now and the value before."""

    preference: Preference
    earlier: Preference | None
    changed: bool


def choose(wanted: Preference, stored: Preference | None) -> PreferenceChange:
    """Return which value is kept: the wanted one, unless it is a default and the user has chosen."""
    if stored is not None and wanted.set_by is SetBy.DEFAULT and stored.set_by is SetBy.USER:
        return PreferenceChange(stored, stored, changed=False)
    same = stored is not None and (stored.value, stored.set_by) == (wanted.value, wanted.set_by)
    return PreferenceChange(wanted, stored, changed=not same)
