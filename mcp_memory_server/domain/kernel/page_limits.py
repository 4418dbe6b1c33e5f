"""How many entries of a list a caller may ask for."""

from mcp_memory_server.errors import InvalidRequestError

MOST_LISTED = 1000


def check_limit(limit: int, name: str = "limit", most: int = MOST_LISTED) -> None:
    """Refuse a number of entries that is not positive, or so large that the reply would have no bound."""
    if not 1 <= limit <= most:
        raise InvalidRequestError(f"{name} must be 1 to {most}, got {str(limit)[:20]}; a cursor leads further")
