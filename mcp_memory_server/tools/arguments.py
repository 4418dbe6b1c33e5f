"""Derive the arguments of a tool from the signature of its function: JSON schemas for the model, and parsing of values.

A model may send a number or a list as text ("800"), one text for a list of one, and null for an omitted argument. Any
other mismatch is refused with a sentence that says what would be right.
"""

import inspect
import json
import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from types import NoneType
from typing import Annotated, Any, Literal, NewType, cast, get_args, get_origin

from mcp_memory_server.domain.facts.dates import first_day, last_day
from mcp_memory_server.errors import InvalidRequestError
from mcp_memory_server.tools.dates import moment_from

MOST_PROBLEMS = 5
LONGEST_NAME = 80
LONGEST_VALUE = 40

FirstDay = NewType("FirstDay", date)
LastDay = NewType("LastDay", date)
"""A day as an argument. Where a model gives a month or a year, it is the first or the last day of it."""

Parse = Callable[[str, Any], Any]
"""Parse the value of the argument with this name, or raise InvalidRequestError."""


@dataclass(frozen=True)
class Argument:
    """One argument: its name, its JSON schema, and the parser of its values. ``default`` is for optional ones."""

    name: str
    schema: Mapping[str, Any]
    parse: Parse
    required: bool
    default: Any = None


def arguments_of(parameters: Iterable[inspect.Parameter]) -> tuple[Argument, ...]:
    """Return the arguments described by the parameters of a function.

    A parameter is a text, a number, a flag, a time, a day, a member of an enumeration (or of some of its members, as a
    ``Literal``), or a list or object of JSON, each possibly optional. ``Annotated[…, "words"]`` adds a description.
    """
    return tuple(_argument(parameter) for parameter in parameters)


def schema_of(arguments: Iterable[Argument]) -> dict[str, Any]:
    """Return the JSON schema of an object with these arguments and no others."""
    properties = {argument.name: dict(argument.schema) for argument in arguments}
    required = [argument.name for argument in arguments if argument.required]
    stated = {"required": required} if required else {}
    return {"type": "object", "properties": properties, **stated, "additionalProperties": False}


def parse_arguments(arguments: Iterable[Argument], sent: Mapping[str, Any]) -> dict[str, Any]:
    """Return a value for every argument.

    Raises:
        InvalidRequestError: Something is missing, unknown or of the wrong type. The message names every mistake.
    """
    known = {argument.name: argument for argument in arguments}
    values: dict[str, Any] = {}
    # An unknown argument is refused, so that a model which invents a user_id learns that it has no effect.
    problems = [f"there is no argument {name[:LONGEST_NAME]!r}" for name in sent if name not in known]
    for name, argument in known.items():
        value = sent.get(name)
        if value is None:
            values[name] = argument.default
            problems += [f"{name} is missing"] if argument.required else []
            continue
        try:
            values[name] = argument.parse(name, value)
        except InvalidRequestError as error:
            problems.append(str(error))
    if problems:
        raise InvalidRequestError(f"{'; '.join(problems[:MOST_PROBLEMS])}. The arguments are: {', '.join(known)}")
    return values


def _argument(parameter: inspect.Parameter) -> Argument:
    annotation, described = _without_description(parameter.annotation)
    type_schema, parse = _schema_and_parser(_without_none(annotation))
    required = parameter.default is parameter.empty
    default = None if required else parameter.default
    stated = {} if default is None else {"default": default.value if isinstance(default, StrEnum) else default}
    return Argument(parameter.name, {**stated, **described, **type_schema}, parse, required, default)


def _without_description(annotation: Any) -> tuple[Any, dict[str, str]]:
    if get_origin(annotation) is not Annotated:
        return annotation, {}
    inner, description = get_args(annotation)
    return inner, {"description": description}


def _without_none(annotation: Any) -> Any:
    kinds = [kind for kind in get_args(annotation) if kind is not NoneType]
    return kinds[0] if NoneType in get_args(annotation) else annotation


def _schema_and_parser(annotation: Any) -> tuple[dict[str, Any], Parse]:
    if members := _members(annotation):
        return {"enum": [member.value for member in members]}, _one_of(members)
    known: dict[Any, tuple[dict[str, Any], Parse]] = {
        str: ({"type": "string"}, _text),
        int: ({"type": "integer"}, _whole_number),
        float: ({"type": "number"}, _number),
        bool: ({"type": "boolean"}, _flag),
        datetime: ({"type": "string"}, _moment),
        FirstDay: ({"type": "string"}, _first_day),
        LastDay: ({"type": "string"}, _last_day),
        dict[str, Any]: ({"type": "object"}, _object),
        list[str]: ({"type": "array", "items": {"type": "string"}}, _texts),
        list[dict[str, Any]]: ({"type": "array", "items": {"type": "object"}}, _objects),
    }
    return known[annotation]


def _members(annotation: Any) -> tuple[StrEnum, ...]:
    """Return the members of an enumeration, or those that a Literal names."""
    if get_origin(annotation) is Literal:
        return get_args(annotation)
    return tuple(annotation) if isinstance(annotation, type) and issubclass(annotation, StrEnum) else ()


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise _wrong(name, "text", value)
    return value


def _whole_number(name: str, value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    number = _number(name, value, "a whole number")
    if not number.is_integer():
        raise _wrong(name, "a whole number", value)
    return int(number)


def _number(name: str, value: Any, wanted: str = "a number") -> float:
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        try:
            number = float(value)
        except (ValueError, OverflowError):
            raise _wrong(name, wanted, value) from None
        if math.isfinite(number):
            return number
    raise _wrong(name, wanted, value)


def _flag(name: str, value: Any) -> bool:
    flag = {"true": True, "false": False}.get(str(value).lower()) if isinstance(value, bool | str) else None
    if flag is None:
        raise _wrong(name, "true or false", value)
    return flag


def _moment(name: str, value: Any) -> datetime:
    return moment_from(_text(name, value), name)


def _first_day(name: str, value: Any) -> date:
    return first_day(name, _text(name, value))


def _last_day(name: str, value: Any) -> date:
    return last_day(name, _text(name, value))


def _object(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _wrong(name, "an object", value)
    return cast("dict[str, Any]", value)


def _texts(name: str, value: Any) -> list[str]:
    if isinstance(value, str) and not value.startswith("["):
        return [value]
    return [_text(f"each of {name}", item) for item in _list(name, value)]


def _objects(name: str, value: Any) -> list[dict[str, Any]]:
    return [_object(f"each of {name}", item) for item in _list(name, value)]


def _list(name: str, value: Any) -> list[Any]:
    """Return the list, also if it was sent as JSON text, as some clients do."""
    if isinstance(value, str):
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
    if not isinstance(value, list):
        raise _wrong(name, "a list", value)
    return cast("list[Any]", value)


def _one_of(members: tuple[StrEnum, ...]) -> Parse:
    wanted = f"one of {', '.join(repr(member.value) for member in members)}"

    def parse_member(name: str, value: Any) -> StrEnum:
        if value not in members:
            raise _wrong(name, wanted, value)
        return members[members.index(value)]

    return parse_member


def _wrong(name: str, wanted: str, value: Any) -> InvalidRequestError:
    return InvalidRequestError(f"{name} must be {wanted}, got {_shown(value)}")


def _shown(value: Any) -> str:
    """Return a value for a message: short, and without the content of a list or an object."""
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    return repr(value[:LONGEST_VALUE]) if isinstance(value, str) else repr(value)[:LONGEST_VALUE]
