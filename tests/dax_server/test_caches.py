"""The caches behave as the service's do."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.dax_server.conftest import OpenClient
from tests.dax_server.running import DaxCluster

KEY = {"pk": {"S": "p"}, "sk": {"S": "s"}}
QUERY = {"KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": {":p": {"S": "p"}}}
MANY = 20
"""Enough reads to meet both nodes: which one is asked is for the client to choose."""


def item(text: str) -> dict[str, Any]:
    return {**KEY, "text": {"S": text}}


def text_of(dax: Any, table: str, **more: Any) -> str | None:
    found = dax.get_item(TableName=table, Key=KEY, **more).get("Item")
    return None if found is None else found["text"]["S"]


def texts(dax: Any, table: str) -> set[str | None]:
    return {text_of(dax, table) for _ in range(MANY)}


def test_a_write_through_the_cluster_refreshes_the_item_cache(dax: Any, table: str) -> None:
    dax.put_item(TableName=table, Item=item("one"))
    text_of(dax, table)

    dax.put_item(TableName=table, Item=item("two"))

    assert texts(dax, table) == {"two"}


def test_a_write_past_the_cluster_is_not_seen_until_the_item_is_too_old(
    open_client: OpenClient, own_dax: DaxCluster, dynamodb: Any, table: str
) -> None:
    dax = open_client(own_dax)
    dax.put_item(TableName=table, Item=item("one"))
    dynamodb.put_item(TableName=table, Item=item("two"))

    before, passed = texts(dax, table), text_of(dax, table, ConsistentRead=True)
    own_dax.advance(301)

    assert (before, passed) == ({"one"}, "two")
    assert texts(dax, table) == {"two"}


def test_that_there_is_nothing_is_remembered_too(dax: Any, dynamodb: Any, table: str) -> None:
    absent = texts(dax, table)

    dynamodb.put_item(TableName=table, Item=item("one"))

    assert absent == texts(dax, table) == {None}
    assert text_of(dax, table, ConsistentRead=True) == "one"


def test_no_write_refreshes_the_result_of_a_query(open_client: OpenClient, own_dax: DaxCluster, table: str) -> None:
    dax = open_client(own_dax)
    dax.put_item(TableName=table, Item=item("one"))
    counted = {dax.query(TableName=table, **QUERY)["Count"] for _ in range(MANY)}

    dax.delete_item(TableName=table, Key=KEY)
    stale = {dax.query(TableName=table, **QUERY)["Count"] for _ in range(MANY)}
    fresh = dax.query(TableName=table, **QUERY, ConsistentRead=True)["Count"]
    own_dax.advance(301)

    assert (counted, stale, fresh) == ({1}, {1}, 0)
    assert dax.query(TableName=table, **QUERY)["Count"] == 0


def test_the_other_node_learns_of_a_write_later(open_client: OpenClient, lagging: DaxCluster, table: str) -> None:
    dax = open_client(lagging)
    dax.put_item(TableName=table, Item=item("one"))
    lagging.advance(1001)
    texts(dax, table)
    lagging.advance(1001)

    dax.put_item(TableName=table, Item=item("two"))
    meanwhile = texts(dax, table)
    lagging.advance(1001)

    assert meanwhile >= {"two"}
    assert texts(dax, table) == {"two"}


def test_the_items_of_a_transaction_are_read_again_in_the_background(
    open_client: OpenClient, own_dax: DaxCluster, table: str
) -> None:
    dax = open_client(own_dax)
    dax.put_item(TableName=table, Item=item("one"))
    own_dax.lag(100)

    dax.transact_write_items(TransactItems=[{"Put": {"TableName": table, "Item": item("two")}}])
    meanwhile = texts(dax, table)
    own_dax.advance(101)

    assert meanwhile == {"one"}
    assert texts(dax, table) == {"two"}


def test_a_refused_write_leaves_the_cache_as_it_was(dax: Any, table: str) -> None:
    dax.put_item(TableName=table, Item=item("one"))

    with pytest.raises(ClientError):
        dax.put_item(TableName=table, Item=item("two"), ConditionExpression="attribute_not_exists(pk)")

    assert texts(dax, table) == {"one"}


@pytest.mark.parametrize("wanted", ["get", "batch"])
def test_a_hit_costs_the_table_nothing_and_a_miss_says_what_it_cost(dax: Any, table: str, wanted: str) -> None:
    dax.put_item(TableName=table, Item=item("one"))
    other = {"pk": {"S": "p"}, "sk": {"S": "never read"}}

    def cost(key: dict[str, Any]) -> float:
        if wanted == "get":
            told = dax.get_item(TableName=table, Key=key, ReturnConsumedCapacity="TOTAL").get("ConsumedCapacity", {})
            return float(told.get("CapacityUnits", 0))
        asked = {table: {"Keys": [key], "ConsistentRead": key is other}}
        (told,) = dax.batch_get_item(RequestItems=asked, ReturnConsumedCapacity="TOTAL")["ConsumedCapacity"]
        return float(told["CapacityUnits"])

    assert cost(KEY) == 0
    assert cost(other) > 0 or wanted == "batch"


def test_hits_and_misses_are_counted(open_client: OpenClient, own_dax: DaxCluster, table: str) -> None:
    dax = open_client(own_dax)

    for _ in range(3):
        text_of(dax, table)
    text_of(dax, table, ConsistentRead=True)

    counts = own_dax.counts()
    assert (counts["item.hits"], counts["item.misses"], counts["passed"]) == (2, 1, 1)
    assert (counts["cluster.GET_ITEM"], counts["table.GetItem"]) == (4, 2)
