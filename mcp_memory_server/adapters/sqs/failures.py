"""Maps errors of SQS to ours."""

from mcp_memory_server.adapters.aws.account_failures import about_the_account, code_of
from mcp_memory_server.adapters.sqs.address import QueueAddress
from mcp_memory_server.errors import ConfigurationError, MemoryServerError, TooLargeError, UnavailableError

_RETENTION_SECONDS = 14 * 24 * 3600
"""The longest that SQS keeps a message. The default of a new queue is four days."""

_MISSING = frozenset({"AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist"})


def translated(error: Exception, address: QueueAddress) -> MemoryServerError:
    """Return our error for one of SQS or its client. Its message holds no sent data and no secret."""
    code = code_of(error)
    if code in _MISSING:
        return ConfigurationError(
            f"{address} does not exist; create a standard queue of that name that keeps messages for 14 days: "
            f"aws sqs create-queue --queue-name {address.name} --attributes MessageRetentionPeriod={_RETENTION_SECONDS}"
        )
    if "must be shorter than" in str(error):
        return TooLargeError(f"{address} accepts no message of this size; raise its MaximumMessageSize")
    account = about_the_account(error, address, written=f"sqs://{address.name}?region=eu-west-1")
    return account or UnavailableError(f"{address} refused the request: {code}")
