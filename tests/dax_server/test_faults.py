"""The cluster fails as it is told to, and the client notices."""

import time
from pathlib import Path
from typing import Any

import pytest
from amazondax import AmazonDaxClient
from botocore.config import Config
from botocore.exceptions import ClientError

from tests.dax_server.conftest import CONFIG, OpenClient
from tests.dax_server.running import DaxCluster, dax_cluster
from tests.engines.certificates import certificate_for

KEY = {"pk": {"S": "p"}, "sk": {"S": "s"}}
IMPATIENT = Config(connect_timeout=0.5, read_timeout=0.5, retries={"max_attempts": 0})


def test_a_stopped_cluster_refuses_and_can_be_started_again(
    open_client: OpenClient, own_dax: DaxCluster, table: str
) -> None:
    dax = open_client(own_dax)
    dax.put_item(TableName=table, Item=KEY)

    own_dax.stop()
    with pytest.raises((OSError, ClientError)):
        dax.get_item(TableName=table, Key=KEY)
    own_dax.start()

    assert open_client(own_dax).get_item(TableName=table, Key=KEY)["Item"] == KEY


def test_a_hung_cluster_answers_nothing_and_does_later_what_it_was_asked(
    own_dax: DaxCluster, dynamodb: Any, table: str
) -> None:
    with AmazonDaxClient(endpoint_url=own_dax.url, region_name="eu-central-1", config=IMPATIENT) as dax:
        dax.put_item(TableName=table, Item={**KEY, "n": {"N": "1"}})
        own_dax.hang()
        with pytest.raises((OSError, ClientError)):
            dax.put_item(TableName=table, Item={**KEY, "n": {"N": "2"}})
        before = dynamodb.get_item(TableName=table, Key=KEY, ConsistentRead=True)["Item"]["n"]
        own_dax.resume()

    end = time.monotonic() + 10
    while (late := dynamodb.get_item(TableName=table, Key=KEY, ConsistentRead=True)["Item"]["n"]) == before:
        assert time.monotonic() < end
    assert (before, late) == ({"N": "1"}, {"N": "2"})


def test_a_lost_reply_leaves_the_write_made(
    open_client: OpenClient, own_dax: DaxCluster, dynamodb: Any, table: str
) -> None:
    dax = open_client(own_dax)
    dax.put_item(TableName=table, Item=KEY)

    own_dax.drop(1)
    with pytest.raises((OSError, ClientError)):
        dax.put_item(TableName=table, Item={**KEY, "n": {"N": "2"}})

    assert dynamodb.get_item(TableName=table, Key=KEY, ConsistentRead=True)["Item"] == {**KEY, "n": {"N": "2"}}


def test_another_node_leads_when_the_leader_is_killed(open_client: OpenClient, own_dax: DaxCluster, table: str) -> None:
    own_dax.kill(node=0)

    dax = open_client(own_dax)
    dax.put_item(TableName=table, Item=KEY)

    assert dax.get_item(TableName=table, Key=KEY)["Item"] == KEY


def test_a_wrong_signature_is_refused(dynamodb_local_endpoint: str, tmp_path: Path) -> None:
    with (
        dax_cluster(dynamodb_local_endpoint, tmp_path / "log", "--secret-key", "another") as cluster,
        pytest.raises(ClientError, match="security token"),
    ):
        AmazonDaxClient(endpoint_url=cluster.url, region_name="eu-central-1", config=CONFIG)


def test_a_client_that_trusts_the_certificate_is_served_over_tls(
    dynamodb_local_endpoint: str, tmp_path: Path, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = certificate_for("localhost", tmp_path / "dax.pem")
    with dax_cluster(dynamodb_local_endpoint, tmp_path / "log", certificate=certificate) as cluster:
        with pytest.raises(ClientError, match="Certificate verification failed"):
            AmazonDaxClient(endpoint_url=cluster.url, region_name="eu-central-1", config=CONFIG)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        with AmazonDaxClient(endpoint_url=cluster.url, region_name="eu-central-1", config=CONFIG) as dax:
            dax.put_item(TableName=table, Item=KEY)

            assert dax.get_item(TableName=table, Key=KEY)["Item"] == KEY


def test_a_command_for_a_node_that_is_not_there_is_an_error(own_dax: DaxCluster) -> None:
    with pytest.raises(ValueError, match="IndexError"):
        own_dax.kill(node=7)
