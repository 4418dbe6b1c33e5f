"""Records as plain data and back, so that what another release wrote survives a rewrite by this one."""

import json
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from typing import Any, cast

LONGEST_KEPT = 1000
"""Characters of a value, written as JSON. What agents share is read and written whole, at every change."""

_MORE = "more"


def to_plain(record: Any) -> dict[str, Any]:
    """Return what the record says, without what goes without saying, and with what it did not understand."""
    said = {each.name: getattr(record, each.name) for each in fields(record) if each.name != _MORE}
    return {**record.more, **{name: value for name, value in said.items() if value != _default(record, name)}}


def arguments_of(kind: type[Any], plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return what to make a record of; what it has no field for is kept as ``more``."""
    names = {each.name for each in fields(kind)} - {_MORE}
    known = {name: value for name, value in plain.items() if name in names}
    return {**known, _MORE: {name: value for name, value in plain.items() if name not in names}}


def mapping(value: object) -> dict[str, Any]:
    """Return the value if it is an object of JSON, an empty one otherwise."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def kept(value: Any, most: int = LONGEST_KEPT) -> Any:
    """Return the value as plain data; one that is too long as the beginning of its text."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=str, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        text = json.dumps(str(value), ensure_ascii=False)
    if len(text) <= most:
        return json.loads(text)
    return (value if isinstance(value, str) else text)[: most - 1] + "…"


def _default(record: Any, name: str) -> Any:
    field: Field[Any] = record.__dataclass_fields__[name]
    if field.default is not MISSING:
        return field.default
    return field.default_factory() if field.default_factory is not MISSING else MISSING
