"""Maps errors of DynamoDB: which are worth a retry, and which error of this package stands for the others."""

from botocore.exceptions import (
    ClientError,
    ConnectionError,  # noqa: A004 - botocore's name
    ConnectTimeoutError,
    EndpointConnectionError,
    HTTPClientError,
    IncompleteReadError,
)
from botocore.parsers import ResponseParserError

from mcp_memory_server.adapters.aws.account_failures import about_the_account, answer_of, code_of
from mcp_memory_server.adapters.dynamodb.address import TableAddress
from mcp_memory_server.errors import (
    ConfigurationError,
    InvalidRequestError,
    MemoryServerError,
    TableUnavailableError,
    TooLargeError,
)

_CONDITION_FAILED = "ConditionalCheckFailed"
_TOO_MUCH = frozenset(
    {
        "ProvisionedThroughputExceeded",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestLimitExceededException",
        "Throttling",
        "ThrottlingError",
        "ThrottlingException",
    }
)
_THROTTLED = _TOO_MUCH | {
    "ContinuousBackupsUnavailableException",
    "LimitExceededException",
    "TransactionConflict",
    "TransactionConflictException",
}
_MAY_HAVE_HAPPENED = frozenset(
    {"InternalServerError", "InternalFailure", "ServiceUnavailable", "TransactionInProgressException"}
)
_TOO_LARGE = frozenset(
    {"ItemCollectionSizeLimitExceeded", "ItemCollectionSizeLimitExceededException", "RequestEntityTooLarge"}
)


def reasons_of(error: Exception) -> tuple[str, ...]:
    """Return why each write of a cancelled transaction was refused, in their order; nothing for other errors."""
    return tuple(reason.get("Code", "None") for reason in _reasons(error))


def is_failed_condition(error: Exception) -> bool:
    """Return whether the condition of the request failed."""
    return code_of(error) == f"{_CONDITION_FAILED}Exception" or _CONDITION_FAILED in reasons_of(error)


def may_pass(error: Exception) -> bool:
    """Return whether the same request may succeed a moment later."""
    if not isinstance(error, ClientError):
        return isinstance(error, HTTPClientError | ConnectionError | IncompleteReadError | ResponseParserError)
    refused = {reason for reason in reasons_of(error) if reason != "None"}
    if refused:
        return refused <= _THROTTLED
    return code_of(error) in _THROTTLED | _MAY_HAVE_HAPPENED or _status(error) >= 500


def is_too_much(error: Exception) -> bool:
    """Return whether the request was throttled."""
    return bool(_TOO_MUCH & {code_of(error), *reasons_of(error)})


def may_have_happened(error: Exception) -> bool:
    """Return whether the request may have been carried out despite this error."""
    if isinstance(error, ClientError):
        return code_of(error) not in _THROTTLED and not reasons_of(error)
    return not isinstance(error, EndpointConnectionError | ConnectTimeoutError)


def translated(error: Exception, address: TableAddress) -> MemoryServerError:
    """Return our error for a permanent one. Its message holds no stored data and no secret."""
    code = code_of(error)
    if code == "ResourceNotFoundException":
        return ConfigurationError(f"{address} does not exist; create it with: mcp-memory-server tables create")
    account = about_the_account(error, address, written=f"dynamodb://{address.name}?region=eu-west-1")
    return account or _about_the_request(error) or TableUnavailableError(f"{address} refused the request: {code}")


def _about_the_request(error: Exception) -> MemoryServerError | None:
    codes = {code_of(error), *reasons_of(error)}
    text = " ".join([str(error), *(reason.get("Message", "") for reason in _reasons(error))]).lower()
    if codes & _TOO_LARGE or ("size" in text and "exceeded" in text):
        return TooLargeError("an item or the whole request is larger than DynamoDB allows; store less, or split it")
    if "incorrect data type" in text:
        return InvalidRequestError("an attribute to add to does not hold a number; set it instead")
    if codes & {"ValidationException", "ValidationError", "SerializationException", "ParamValidationError"}:
        return InvalidRequestError("DynamoDB rejected the request as invalid; the cause of this error has its message")
    return None


def _reasons(error: Exception) -> list[dict[str, str]]:
    # The client of DAX puts them in one flat list: a code, a message and an item for each write.
    row = getattr(error, "cancellation_reasons", None) or []
    reasons = [
        {"Code": code or "None", "Message": words or ""} for code, words in zip(row[::3], row[1::3], strict=True)
    ]
    return reasons or answer_of(error).get("CancellationReasons", [])


def _status(error: Exception) -> int:
    return answer_of(error).get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
