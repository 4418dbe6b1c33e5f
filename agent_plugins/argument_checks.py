"""Checks of arguments where they are passed: the error says in one line what is right."""

from mcp_memory_server import InvalidRequestError

LONGEST_SHOWN = 60


def check_type(name: str, value: object, wanted: type | tuple[type, ...], example: str) -> None:
    """Refuse a value of a wrong type.

    Raises:
        InvalidRequestError: It is of another type; the message shows an example of the right one.
    """
    is_wrong = not isinstance(value, wanted) or (isinstance(value, bool) and not _takes_bool(wanted))
    if is_wrong:
        raise InvalidRequestError(f"{name} must be {example}, got {_shown(value)} ({type(value).__name__})")


def _takes_bool(wanted: type | tuple[type, ...]) -> bool:
    return bool in wanted if isinstance(wanted, tuple) else wanted in (bool, object)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…"
