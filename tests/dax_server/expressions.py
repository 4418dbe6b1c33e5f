"""Expressions: a client sends them as trees of numbers; DynamoDB wants the text that they were made from."""

from collections.abc import Callable, Sequence
from typing import Any

from tests.dax_server.attributes import Attribute, to_json
from tests.dax_server.cbor import ListPlace, Reader

_COMPARISONS = ("=", "<>", "<", ">=", ">", "<=")
_AND, _OR, _NOT, _BETWEEN, _IN = range(6, 11)
_FUNCTIONS = {
    11: "attribute_exists",
    12: "attribute_not_exists",
    13: "attribute_type",
    14: "begins_with",
    15: "contains",
    16: "size",
    23: "if_not_exists",
    24: "list_append",
}
_VARIABLE, _PATH = 17, 18
_ACTIONS = {19: "SET", 20: "ADD", 21: "DELETE", 22: "REMOVE"}
_PLUS, _MINUS = 25, 26
_FORMAT = 1


class Expressions:
    """The texts of one request, with the names and values that they share."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._values: dict[str, Attribute] = {}
        self._variables: Sequence[Any] = ()

    def parameters(self) -> dict[str, Any]:
        """Return what the placeholders stand for, as DynamoDB wants it."""
        names = {placeholder: name for name, placeholder in self._names.items()}
        parts = {"ExpressionAttributeNames": names, "ExpressionAttributeValues": self._values}
        return {name: part for name, part in parts.items() if part}

    def condition(self, data: bytes) -> str:
        """Return a condition, a filter, or the condition of a query."""
        return self._condition(self._tree(data))

    def update(self, data: bytes) -> str:
        """Return what is to be changed."""
        actions: dict[str, list[str]] = {}
        for code, *parts in self._tree(data):
            actions.setdefault(_ACTIONS[code], []).append(self._action(code, parts))
        return " ".join(f"{word} {', '.join(texts)}" for word, texts in actions.items())

    def projection(self, data: bytes) -> str:
        """Return which attributes are wanted."""
        return ", ".join(map(self._path, paths_of(data)))

    def _tree(self, data: bytes) -> Any:
        form, tree, variables = Reader(data).value()
        assert form == _FORMAT
        self._variables = [self._value(value) for value in variables]
        return tree

    def _condition(self, tree: Any) -> str:
        code, *parts = tree
        if code < len(_COMPARISONS):
            left, right = map(self._operand, parts)
            return f"{left} {_COMPARISONS[code]} {right}"
        match code:
            case 6 | 7:
                left, right = map(self._nested, parts)
                return f"{left} {'AND' if code == _AND else 'OR'} {right}"
            case 8:
                return f"NOT {self._nested(parts[0])}"
            case 9:
                what, low, high = map(self._operand, parts)
                return f"{what} BETWEEN {low} AND {high}"
            case 10:
                return f"{self._operand(parts[0])} IN ({', '.join(map(self._operand, parts[1]))})"
        return self._operand(tree)

    def _nested(self, tree: Any) -> str:
        # Parentheses that are not needed are refused.
        text = self._condition(tree)
        return f"({text})" if tree[0] in (_AND, _OR, _NOT) else text

    def _operand(self, tree: Any) -> str:
        code, *parts = tree
        match code:
            case 17:
                return self._variables[parts[0]]
            case 18:
                return self._path(parts)
            case 25 | 26:
                left, right = map(self._operand, parts)
                return f"{left} {'+' if code == _PLUS else '-'} {right}"
        return f"{_FUNCTIONS[code]}({', '.join(map(self._operand, parts))})"

    def _action(self, code: int, parts: Sequence[Any]) -> str:
        joined = " = " if _ACTIONS[code] == "SET" else " "
        return joined.join(map(self._operand, parts))

    def _path(self, elements: Sequence[str | ListPlace]) -> str:
        text = ""
        for element in elements:
            if isinstance(element, ListPlace):
                text += f"[{element.number}]"
            else:
                text += ("." if text else "") + self._names.setdefault(element, f"#n{len(self._names)}")
        return text

    def _value(self, value: Any) -> str:
        placeholder = f":v{len(self._values)}"
        self._values[placeholder] = to_json(value)
        return placeholder


def paths_of(data: bytes) -> list[list[str | ListPlace]]:
    """Return the paths of a projection, each as its elements."""
    form, paths = Reader(data).value()
    assert form == _FORMAT
    return [elements for _, *elements in paths]


def looked_up(item: dict[str, Attribute], path: Sequence[str | ListPlace]) -> Attribute | None:
    """Return what lies at this path of an item, None if nothing does."""
    found: Any = {"M": item}
    for element in path:
        found = _step(element)(found)
        if found is None:
            return None
    return found


def _step(element: str | ListPlace) -> Callable[[Attribute], Attribute | None]:
    if isinstance(element, ListPlace):
        number = element.number
        return lambda attribute: dict(enumerate(attribute.get("L", ()))).get(number)
    return lambda attribute: attribute.get("M", {}).get(element)
