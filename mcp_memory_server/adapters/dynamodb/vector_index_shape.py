"""The shape that the vector index of a table must have."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

PROJECTION = {"ProjectionType": "KEYS_ONLY"}
DISTANCE = "COSINE"


@dataclass(frozen=True)
class VectorIndexShape:
    """The name of the index, its attributes, and the length of a vector. None of them can be changed later."""

    name: str
    vector: str
    owner: str
    dimensions: int

    @property
    def attribute_definitions(self) -> list[dict[str, str]]:
        """The attributes that the table has to declare for the index."""
        return [{"AttributeName": self.owner, "AttributeType": "S"}]

    @property
    def definition(self) -> dict[str, Any]:
        """The definition of the index in a request."""
        return {
            "IndexName": self.name,
            "VectorAttribute": {"AttributeName": self.vector},
            "SearchSchema": [{"AttributeName": self.owner, "SearchSchemaElementType": "HASH"}],
            "Projection": PROJECTION,
            "Dimensions": self.dimensions,
            "DistanceFunction": DISTANCE,
        }

    def found_in(self, table: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the index of this name as the table describes it, None if there is none."""
        indexes = table.get("VectorIndexes", ())
        return next((index for index in indexes if index["IndexName"] == self.name), None)

    def misfit(self, table: Mapping[str, Any]) -> str | None:
        """Return in words why the index cannot be used, None if it can, now or when it is built."""
        index = self.found_in(table)
        if index is None:
            return f"there is no vector index {self.name!r}"
        if index.get("Dimensions") != self.dimensions:
            return f"its vectors have {index.get('Dimensions')} dimensions, those of the model have {self.dimensions}"
        made = {name: index.get(name) for name in ("VectorAttribute", "SearchSchema", "DistanceFunction")}
        if made != {name: self.definition[name] for name in made}:
            return "it was made by another program: its attributes or its distance are not those of this one"
        return None

    def is_ready(self, table: Mapping[str, Any]) -> bool:
        """Return whether it can be searched now."""
        index = self.found_in(table)
        return index is not None and index.get("IndexStatus") == "ACTIVE" and not index.get("Backfilling")

    def misfit_now(self, table: Mapping[str, Any]) -> str | None:
        """Return in words why the index cannot be searched at this moment, None if it can."""
        not_yet = None if self.is_ready(table) else "it is still being built, and cannot be searched until it is ready"
        return self.misfit(table) or not_yet


def in_words(index: Mapping[str, Any]) -> str:
    """Return a description of the index in one line."""
    state = "being built over what is stored" if index.get("Backfilling") else index.get("IndexStatus", "unknown")
    distance = str(index.get("DistanceFunction", "")).lower()
    return f"{index['IndexName']}: {state}, {index.get('Dimensions')} dimensions, {distance}"
