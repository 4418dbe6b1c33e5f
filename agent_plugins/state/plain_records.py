"""Conversion of records to plain data and back. Fields that another release wrote survive a rewrite by this one."""

import json
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from typing import Any, cast

LONGEST_VALUE = 1000
"""In characters of a value as JSON. The shared state is read and written whole with every change."""

_MORE = "more"


def to_plain(record: Any) -> dict[str, Any]:
    """Return the fields of the record, without those that have their default, and with the unknown ones in ``more``."""
    said = {each.name: getattr(record, each.name) for each in fields(record) if each.name != _MORE}
    return {**record.more, **{name: value for name, value in said.items() if value != _default(record, name)}}


def arguments_for(kind: type[Any], plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments for a record of this type; unknown fields go into ``more``."""
    names = {each.name for each in fields(kind)} - {_MORE}
    known = {name: value for name, value in plain.items() if name in names}
    return {**known, _MORE: {name: value for name, value in plain.items() if name not in names}}


def as_mapping(value: object) -> dict[str, Any]:
    """Return the value if it is a JSON object, an empty dictionary otherwise."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def plain_value(value: Any, most: int = LONGEST_VALUE) -> Any:
    """Return the value as plain data; a value that is too long becomes a cut text."""
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
