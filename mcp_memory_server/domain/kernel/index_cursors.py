"""Cursors of index queries and of listings of keys: the last returned entry, encoded as text."""

import json
from dataclasses import dataclass

from mcp_memory_server.domain.kernel.items import Key
from mcp_memory_server.errors import InvalidRequestError


@dataclass(frozen=True)
class IndexPlace:
    """One entry of the index: its sort key there, and the key of the item that it refers to."""

    index_sk: str
    key: Key

    def to_cursor(self) -> str:
        """Return the cursor that continues after this entry."""
        return json.dumps([self.index_sk, self.key.pk, self.key.sk])


def place_from(cursor: str) -> IndexPlace:
    """Decode a cursor.

    Raises:
        InvalidRequestError: It is not a cursor of an index query.
    """
    try:
        index_sk, pk, sk = json.loads(cursor)
        Key(pk, str(index_sk))  # the same letters and length as in any key
        return IndexPlace(str(index_sk), Key(pk, sk))
    except (ValueError, TypeError, AttributeError, RecursionError, InvalidRequestError):
        raise InvalidRequestError("the cursor is not one of this query's; start again without it") from None


def key_cursor(key: Key) -> str:
    """Return the cursor that continues a listing after this key."""
    return json.dumps([key.pk, key.sk])


def key_from(cursor: str) -> Key:
    """Decode the cursor of a listing of keys.

    Raises:
        InvalidRequestError: It is not such a cursor.
    """
    try:
        pk, sk = json.loads(cursor)
        return Key(pk, sk)
    except (ValueError, TypeError, AttributeError):
        raise InvalidRequestError("the cursor is not one of this listing; start again without it") from None
