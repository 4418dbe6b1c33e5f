"""What a model sends is parsed leniently, and refused in one sentence that says what would be right."""

import inspect
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any

import pytest

from mcp_memory_server import InvalidRequestError
from mcp_memory_server.domain.facts.dates import DayOfMonth
from mcp_memory_server.tools.arguments import FirstDay, LastDay, arguments_of, parse_arguments, schema_of


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


def paint(
    what: str,
    layers: int = 2,
    share: Annotated[float | None, "0 to 1"] = None,
    dry: bool = False,  # noqa: FBT001, FBT002
    colour: Colour = Colour.RED,
    at: datetime | None = None,
    since: FirstDay | None = None,
    until: LastDay | None = None,
    tags: list[str] | None = None,
    steps: list[dict[str, Any]] | None = None,
    options: dict[str, Any] | None = None,
) -> None: ...


ARGUMENTS = arguments_of(inspect.signature(paint).parameters.values())


def parsed(**sent: Any) -> dict[str, Any]:
    return parse_arguments(ARGUMENTS, {"what": "door", **sent})


def refusal(sent: dict[str, Any]) -> str:
    with pytest.raises(InvalidRequestError) as refused:
        parse_arguments(ARGUMENTS, sent)
    return str(refused.value).partition(". The arguments are")[0]


def test_the_schema_says_no_more_than_a_model_needs() -> None:
    assert schema_of(ARGUMENTS) == {
        "type": "object",
        "properties": {
            "what": {"type": "string"},
            "layers": {"default": 2, "type": "integer"},
            "share": {"description": "0 to 1", "type": "number"},
            "dry": {"default": False, "type": "boolean"},
            "colour": {"default": "red", "enum": ["red", "blue"]},
            "at": {"type": "string"},
            "since": {"type": "string"},
            "until": {"type": "string"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "steps": {"type": "array", "items": {"type": "object"}},
            "options": {"type": "object"},
        },
        "required": ["what"],
        "additionalProperties": False,
    }


def test_what_is_left_out_or_null_has_its_default() -> None:
    assert parsed(layers=None, colour=None) == {
        "what": "door",
        "layers": 2,
        "share": None,
        "dry": False,
        "colour": Colour.RED,
        "at": None,
        "since": None,
        "until": None,
        "tags": None,
        "steps": None,
        "options": None,
    }


@pytest.mark.parametrize(
    ("name", "sent", "expected"),
    [
        ("layers", 3, 3),
        ("layers", "3", 3),
        ("layers", 3.0, 3),
        ("layers", 10**18 + 1, 10**18 + 1),
        ("share", "0.5", 0.5),
        ("share", 1, 1.0),
        ("dry", "true", True),
        ("dry", False, False),
        ("colour", "blue", Colour.BLUE),
        ("at", "2026-03-02T10:00Z", datetime(2026, 3, 2, 10, tzinfo=UTC)),
        ("since", "2024-02", DayOfMonth(2024, 2, 1)),
        ("until", "2024-02", DayOfMonth(2024, 2, 29)),
        ("tags", ["a", "b"], ["a", "b"]),
        ("tags", "a", ["a"]),
        ("tags", '["a", "b"]', ["a", "b"]),
        ("steps", '[{"a": 1}]', [{"a": 1}]),
        ("tags", [], []),
        ("steps", [{"a": 1}], [{"a": 1}]),
        ("options", {"a": [1]}, {"a": [1]}),
    ],
)
def test_a_value_is_read_also_when_a_model_wrote_it_as_text(name: str, sent: Any, expected: Any) -> None:
    value = parsed(**{name: sent})[name]

    assert (value, type(value)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("sent", "sentence"),
    [
        ({}, "what is missing"),
        ({"what": None}, "what is missing"),
        ({"what": 7}, "what must be text, got 7"),
        ({"what": ["a"]}, "what must be text, got a list"),
        ({"what": {"a": 1}}, "what must be text, got an object"),
        ({"layers": "many"}, "layers must be a whole number, got 'many'"),
        ({"layers": 1.5}, "layers must be a whole number, got 1.5"),
        ({"layers": True}, "layers must be a whole number, got True"),
        ({"layers": []}, "layers must be a whole number, got a list"),
        ({"share": 10**400}, f"share must be a number, got {str(10**400)[:40]}"),
        ({"share": "nan"}, "share must be a number, got 'nan'"),
        ({"share": False}, "share must be a number, got False"),
        ({"dry": "perhaps"}, "dry must be true or false, got 'perhaps'"),
        ({"dry": 1}, "dry must be true or false, got 1"),
        ({"colour": "green"}, "colour must be one of 'red', 'blue', got 'green'"),
        ({"colour": ["red"]}, "colour must be one of 'red', 'blue', got a list"),
        ({"at": "soon"}, "at must be a date like 2026-03-02, 2026-03 or 2026, got 'soon'"),
        ({"at": 2026}, "at must be text, got 2026"),
        ({"tags": 1}, "tags must be a list, got 1"),
        ({"tags": "[a"}, "tags must be a list, got '[a'"),
        ({"steps": "a"}, "steps must be a list, got 'a'"),
        ({"until": "soon"}, "until must be a date like 2026-03-02, 2026-03 or 2026, got 'soon'"),
        ({"tags": ["a", 1]}, "each of tags must be text, got 1"),
        ({"steps": ["a"]}, "each of steps must be an object, got 'a'"),
        ({"options": []}, "options must be an object, got a list"),
        ({"user_id": "bo"}, "there is no argument 'user_id'"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_sentence(sent: dict[str, Any], sentence: str) -> None:
    complete = sent if "what" in sent or not sent else {"what": "door", **sent}

    assert refusal(complete) == sentence


def test_several_mistakes_are_named_at_once_but_not_a_hundred() -> None:
    message = refusal({"layers": "x", "share": "y", "a" * 500: 1, **{str(number): 1 for number in range(100)}})

    assert message.count(";") == 4
    assert len(message) < 250
