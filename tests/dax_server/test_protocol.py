"""Every operation of the unmodified client, and the answer that DynamoDB itself would give."""

from contextlib import closing
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from tests.dax_server.conftest import MakeTable, OpenClient
from tests.dax_server.running import dax_cluster

KEY = {"pk": {"S": "user"}, "sk": {"S": "näme#1"}}
OTHER = {"pk": {"S": "user"}, "sk": {"S": "other"}}
BODY = {
    "text": {"S": "hello"},
    "bytes": {"B": b"\x00\xff"},
    "number": {"N": "12.5"},
    "large": {"N": "12345678901234567890123456789012345678"},
    "yes": {"BOOL": True},
    "nothing": {"NULL": True},
    "list": {"L": [{"N": "1"}, {"M": {"deep": {"S": "x"}}}, {"L": []}]},
    "texts": {"SS": ["a", "b"]},
    "numbers": {"NS": ["1", "2.5"]},
    "several": {"BS": [b"\x01", b"\x02"]},
}
ITEM = {**KEY, **BODY}


def sets_in_order(item: dict[str, Any]) -> dict[str, Any]:
    return {
        name: {kind: sorted(value) if kind in ("SS", "NS", "BS") else value for kind, value in attribute.items()}
        for name, attribute in item.items()
    }


def test_an_item_of_every_type_is_put_and_read_from_the_cache_and_past_it(dax: Any, dynamodb: Any, table: str) -> None:
    dax.put_item(TableName=table, Item=ITEM)

    cached = dax.get_item(TableName=table, Key=KEY)["Item"]
    passed = dax.get_item(TableName=table, Key=KEY, ConsistentRead=True)["Item"]
    stored = dynamodb.get_item(TableName=table, Key=KEY)["Item"]
    assert sets_in_order(cached) == sets_in_order(passed) == sets_in_order(stored) == sets_in_order(ITEM)


def test_what_is_not_there_is_no_item(dax: Any, table: str) -> None:
    assert "Item" not in dax.get_item(TableName=table, Key=KEY)


@pytest.mark.parametrize("how", [{"ConsistentRead": False}, {"ConsistentRead": True}])
def test_a_projection_has_what_lies_at_its_paths(dax: Any, table: str, how: dict[str, bool]) -> None:
    dax.put_item(TableName=table, Item=ITEM)

    found = dax.get_item(
        TableName=table,
        Key=KEY,
        **how,
        ProjectionExpression="#t, list[1].deep, missing",
        ExpressionAttributeNames={"#t": "text"},
    )

    assert found["Item"] == {"text": {"S": "hello"}, "list": {"L": [{"M": {"deep": {"S": "x"}}}]}}


def test_an_update_says_what_it_changed_in_every_way(dax: Any, table: str) -> None:
    dax.put_item(TableName=table, Item={**KEY, "count": {"N": "1"}, "old": {"S": "x"}, "list": {"L": []}})
    change = {
        "TableName": table,
        "Key": KEY,
        "UpdateExpression": "SET #c = #c + :one, list = list_append(list, :more), born = if_not_exists(born, :one) "
        "REMOVE old ADD total :one, seen :seen",
        "ConditionExpression": "attribute_exists(pk) AND NOT (#c > :ten OR size(list) > :ten) AND #c IN (:one, :ten)",
        "ExpressionAttributeNames": {"#c": "count"},
        "ExpressionAttributeValues": {
            ":one": {"N": "1"},
            ":ten": {"N": "10"},
            ":more": {"L": [{"S": "y"}]},
            ":seen": {"SS": ["a"]},
        },
    }

    new = dax.update_item(**change, ReturnValues="UPDATED_NEW")["Attributes"]

    assert {name: new[name] for name in ("count", "total", "born")} == {
        "count": {"N": "2"},
        "total": {"N": "1"},
        "born": {"N": "1"},
    }
    with pytest.raises(ClientError, match="ConditionalCheckFailedException"):
        dax.update_item(**change)
    whole = dax.update_item(
        TableName=table,
        Key=KEY,
        UpdateExpression="SET x = :x",
        ExpressionAttributeValues={":x": {"S": "1"}},
        ReturnValues="ALL_NEW",
    )["Attributes"]
    assert whole == dax.get_item(TableName=table, Key=KEY)["Item"]
    assert "old" not in whole


def test_a_removal_returns_what_was_there(dax: Any, table: str) -> None:
    dax.put_item(TableName=table, Item={**KEY, "text": {"S": "x"}})

    old = dax.delete_item(TableName=table, Key=KEY, ReturnValues="ALL_OLD")["Attributes"]

    assert old == {**KEY, "text": {"S": "x"}}
    assert "Item" not in dax.get_item(TableName=table, Key=KEY)


def test_a_query_goes_on_where_its_page_ended(dax: Any, table: str) -> None:
    for number in range(5):
        dax.put_item(
            TableName=table, Item={"pk": {"S": "p"}, "sk": {"S": f"n{number}"}, "even": {"BOOL": not number % 2}}
        )
    wanted = {
        "TableName": table,
        "KeyConditionExpression": "pk = :p AND sk BETWEEN :first AND :last",
        "FilterExpression": "even = :yes",
        "ExpressionAttributeValues": {
            ":p": {"S": "p"},
            ":first": {"S": "n1"},
            ":last": {"S": "n4"},
            ":yes": {"BOOL": True},
        },
        "ScanIndexForward": False,
        "Limit": 2,
    }

    first = dax.query(**wanted)
    second = dax.query(**wanted, ExclusiveStartKey=first["LastEvaluatedKey"])

    assert [item["sk"]["S"] for item in first["Items"] + second["Items"]] == ["n4", "n2"]
    assert (first["Count"], first["ScannedCount"]) == (1, 2)
    assert dax.query(**wanted, Select="COUNT")["Count"] == 1


def test_an_index_is_queried_page_by_page(dax: Any, table: str) -> None:
    for number in range(3):
        dax.put_item(TableName=table, Item={"pk": {"S": f"{number}"}, "sk": {"S": "x"}, "colour": {"S": "red"}})
    wanted = {
        "TableName": table,
        "IndexName": "by_colour",
        "KeyConditionExpression": "colour = :c",
        "ExpressionAttributeValues": {":c": {"S": "red"}},
        "Limit": 2,
    }

    first = dax.query(**wanted)
    second = dax.query(**wanted, ExclusiveStartKey=first["LastEvaluatedKey"])

    assert {item["pk"]["S"] for item in first["Items"] + second["Items"]} == {"0", "1", "2"}


def test_a_scan_finds_everything_in_its_segments(dax: Any, table: str) -> None:
    for number in range(6):
        dax.put_item(TableName=table, Item={"pk": {"S": f"{number}"}, "sk": {"S": "x"}})

    parts = [
        dax.scan(TableName=table, Segment=part, TotalSegments=2, ProjectionExpression="pk")["Items"] for part in (0, 1)
    ]

    assert sorted(item["pk"]["S"] for part in parts for item in part) == ["0", "1", "2", "3", "4", "5"]


def test_many_are_written_and_read_at_once(dax: Any, table: str) -> None:
    puts = [
        {"PutRequest": {"Item": {"pk": {"S": "p"}, "sk": {"S": f"{number}"}, "n": {"N": f"{number}"}}}}
        for number in range(4)
    ]
    keys = [{"pk": {"S": "p"}, "sk": {"S": f"{number}"}} for number in (0, 3, 9)]

    assert dax.batch_write_item(RequestItems={table: puts})["UnprocessedItems"] == {}
    dax.batch_write_item(RequestItems={table: [{"DeleteRequest": {"Key": keys[0]}}]})
    found = dax.batch_get_item(RequestItems={table: {"Keys": keys}})["Responses"][table]
    some = dax.batch_get_item(RequestItems={table: {"Keys": keys, "ConsistentRead": True, "ProjectionExpression": "n"}})

    assert found == [{**keys[1], "n": {"N": "3"}}]
    assert some["Responses"][table] == [{"n": {"N": "3"}}]


def test_a_transaction_is_made_whole_or_told_why_not(dax: Any, table: str) -> None:
    put = {
        "Put": {"TableName": table, "Item": {**KEY, "n": {"N": "1"}}, "ConditionExpression": "attribute_not_exists(pk)"}
    }
    check = {"ConditionCheck": {"TableName": table, "Key": OTHER, "ConditionExpression": "attribute_not_exists(pk)"}}

    dax.transact_write_items(TransactItems=[put, check], ClientRequestToken="first")
    with pytest.raises(ClientError, match="TransactionCanceledException") as refused:
        dax.transact_write_items(TransactItems=[check, put])
    found = dax.transact_get_items(
        TransactItems=[{"Get": {"TableName": table, "Key": KEY}}, {"Get": {"TableName": table, "Key": OTHER}}]
    )

    assert vars(refused.value)["cancellation_reasons"][::3] == ["None", "ConditionalCheckFailed"]
    assert found["Responses"] == [{"Item": {**KEY, "n": {"N": "1"}}}, {}]


@pytest.mark.parametrize(
    ("types", "key"),
    [
        (("N", "N"), {"pk": {"N": "-12.5"}, "sk": {"N": "100"}}),
        (("B", "B"), {"pk": {"B": b"\x00\x01"}, "sk": {"B": b"\xff"}}),
        (("S",), {"pk": {"S": "alone"}}),
        (("N",), {"pk": {"N": "7"}}),
        (("B",), {"pk": {"B": b"\x07"}}),
    ],
)
def test_a_key_may_be_of_any_type(dax: Any, make_table: MakeTable, types: tuple[str, ...], key: dict[str, Any]) -> None:
    table = make_table(*types)

    dax.put_item(TableName=table, Item={**key, "text": {"S": "x"}})

    assert dax.get_item(TableName=table, Key=key)["Item"] == {**key, "text": {"S": "x"}}
    assert dax.scan(TableName=table)["Items"] == [{**key, "text": {"S": "x"}}]


def test_an_unknown_table_is_told_as_dynamodb_does(dax: Any) -> None:
    with pytest.raises(ClientError, match="ResourceNotFoundException"):
        dax.get_item(TableName="nowhere", Key=KEY)


def test_moto_may_stand_behind_it_too(moto_endpoint: str, tmp_path: Path, open_client: OpenClient) -> None:
    with closing(boto3.client("dynamodb", endpoint_url=moto_endpoint)) as moto:
        moto.create_table(
            TableName="behind-dax",
            BillingMode="PAY_PER_REQUEST",
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
        )
    with dax_cluster(moto_endpoint, tmp_path / "log") as cluster:
        dax = open_client(cluster)

        dax.put_item(TableName="behind-dax", Item={**KEY, "empty": {"S": ""}})
        dax.transact_write_items(
            TransactItems=[{"Put": {"TableName": "behind-dax", "Item": {**OTHER, "n": {"N": "1"}}}}]
        )

        found = dax.query(
            TableName="behind-dax",
            KeyConditionExpression="pk = :p",
            ExpressionAttributeValues={":p": {"S": "user"}},
        )
        assert found["Items"] == [{**KEY, "empty": {"S": ""}}, {**OTHER, "n": {"N": "1"}}]
        assert dax.get_item(TableName="behind-dax", Key=KEY)["Item"]["empty"] == {"S": ""}
