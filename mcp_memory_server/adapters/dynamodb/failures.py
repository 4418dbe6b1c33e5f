"""What DynamoDB's errors mean here: which may pass, and what the others are called in this package."""

from typing import Any

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConfigNotFound,
    ConfigParseError,
    ConnectionError,  # noqa: A004 - botocore's name
    ConnectTimeoutError,
    CredentialRetrievalError,
    EndpointConnectionError,
    HTTPClientError,
    IncompleteReadError,
    NoCredentialsError,
    NoRegionError,
    PartialCredentialsError,
    ProfileNotFound,
    SSOError,
    TokenRetrievalError,
)
from botocore.parsers import ResponseParserError

from mcp_memory_server.adapters.dynamodb.address import TableAddress
from mcp_memory_server.errors import (
    ConfigurationError,
    InvalidRequestError,
    MemoryServerError,
    TableUnavailableError,
    TooLargeError,
)

FOREIGN_ERRORS = (BotoCoreError, ClientError, ResponseParserError)

_CONDITION_FAILED = "ConditionalCheckFailed"
_TOO_MUCH = frozenset(
    {
        "ProvisionedThroughputExceeded",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
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
_NOT_ALLOWED = frozenset({"AccessDenied", "AccessDeniedException", "NotAuthorized", "OptInRequired"})
_NOT_KNOWN = frozenset(
    {
        "ExpiredToken",
        "ExpiredTokenException",
        "IncompleteSignature",
        "IncompleteSignatureException",
        "InvalidClientTokenId",
        "InvalidSignatureException",
        "MissingAuthenticationToken",
        "MissingAuthenticationTokenException",
        "RequestExpired",
        "SignatureDoesNotMatch",
        "UnrecognizedClientException",
    }
)
_TOO_LARGE = frozenset(
    {"ItemCollectionSizeLimitExceeded", "ItemCollectionSizeLimitExceededException", "RequestEntityTooLarge"}
)
_UNUSABLE_CREDENTIALS = (
    ConfigNotFound,
    ConfigParseError,
    CredentialRetrievalError,
    NoCredentialsError,
    PartialCredentialsError,
    ProfileNotFound,
    SSOError,
    TokenRetrievalError,
)


def code_of(error: Exception) -> str:
    """Return DynamoDB's name for the error, or the name of its class when DynamoDB never answered."""
    return _answer(error).get("Error", {}).get("Code", "") or type(error).__name__


def reasons_of(error: Exception) -> tuple[str, ...]:
    """Return why each write of a cancelled transaction was refused, in their order; nothing for other errors."""
    return tuple(reason.get("Code", "None") for reason in _answer(error).get("CancellationReasons", ()))


def is_failed_condition(error: Exception) -> bool:
    """Tell whether the table was not as the request expected."""
    return code_of(error) == f"{_CONDITION_FAILED}Exception" or _CONDITION_FAILED in reasons_of(error)


def may_pass(error: Exception) -> bool:
    """Tell whether the same request may succeed a moment later."""
    if not isinstance(error, ClientError):
        return isinstance(error, HTTPClientError | ConnectionError | IncompleteReadError | ResponseParserError)
    refused = {reason for reason in reasons_of(error) if reason != "None"}
    if refused:
        return refused <= _THROTTLED
    return code_of(error) in _THROTTLED | _MAY_HAVE_HAPPENED or _status(error) >= 500


def is_too_much(error: Exception) -> bool:
    """Tell whether the request was refused because there are too many of them."""
    return bool(_TOO_MUCH & {code_of(error), *reasons_of(error)})


def may_have_happened(error: Exception) -> bool:
    """Tell whether the request may have been carried out although its answer is this error."""
    if isinstance(error, ClientError):
        return code_of(error) not in _THROTTLED and not reasons_of(error)
    return not isinstance(error, EndpointConnectionError | ConnectTimeoutError)


def translated(error: Exception, address: TableAddress) -> MemoryServerError:
    """Return our error for one that will not pass. Its message holds nothing that was stored, and no secret."""
    code = code_of(error)
    if code == "ResourceNotFoundException":
        return ConfigurationError(f"{address} does not exist; create it with: mcp-memory-server tables create")
    if isinstance(error, NoRegionError):
        return ConfigurationError(f"no AWS region is set; write it as dynamodb://{address.name}?region=eu-west-1")
    if isinstance(error, _UNUSABLE_CREDENTIALS):
        return ConfigurationError(
            f"no usable AWS credentials were found ({code}); set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "
            "or AWS_PROFILE, or run where a role is attached"
        )
    if code in _NOT_KNOWN:
        return ConfigurationError(
            f"AWS does not accept the credentials ({code}); renew them, and check the clock of this machine"
        )
    if code in _NOT_ALLOWED:
        return ConfigurationError(f"the AWS credentials may not use {address} ({code}); allow it in their IAM policy")
    return _about_the_request(error) or TableUnavailableError(f"{address} refused the request: {code}")


def _about_the_request(error: Exception) -> MemoryServerError | None:
    codes = {code_of(error), *reasons_of(error)}
    text = " ".join([str(error), *(reason.get("Message", "") for reason in _reasons(error))]).lower()
    if codes & _TOO_LARGE or ("size" in text and "exceeded" in text):
        return TooLargeError(
            "DynamoDB says that an item or the whole request is over its limit; store less, or split it"
        )
    if "incorrect data type" in text:
        return InvalidRequestError("an attribute to be raised does not hold a number; set it instead")
    if codes & {"ValidationException", "ValidationError", "SerializationException", "ParamValidationError"}:
        return InvalidRequestError("DynamoDB says that the request is not valid; the cause of this error has its words")
    return None


def _answer(error: Exception) -> dict[str, Any]:
    return getattr(error, "response", None) or {} if isinstance(error, ClientError) else {}


def _reasons(error: Exception) -> list[dict[str, str]]:
    return _answer(error).get("CancellationReasons", [])


def _status(error: Exception) -> int:
    return _answer(error).get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
