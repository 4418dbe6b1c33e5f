"""What the errors of SQS are called in this package."""

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConfigNotFound,
    ConfigParseError,
    CredentialRetrievalError,
    NoCredentialsError,
    NoRegionError,
    PartialCredentialsError,
    ProfileNotFound,
    SSOError,
    TokenRetrievalError,
)
from botocore.parsers import ResponseParserError

from mcp_memory_server.adapters.sqs.address import QueueAddress
from mcp_memory_server.errors import ConfigurationError, MemoryServerError, TooLargeError, UnavailableError

FOREIGN_ERRORS = (BotoCoreError, ClientError, ResponseParserError)

_RETENTION_SECONDS = 14 * 24 * 3600
"""The longest that SQS keeps a message. A new queue keeps it for four days unless it is told otherwise."""

_MISSING = frozenset({"AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist"})
_NOT_ALLOWED = frozenset({"AccessDenied", "AccessDeniedException", "KmsAccessDenied", "OptInRequired"})
_NOT_KNOWN = frozenset(
    {
        "ExpiredToken",
        "ExpiredTokenException",
        "IncompleteSignature",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "InvalidSecurity",
        "InvalidSignatureException",
        "MissingAuthenticationToken",
        "RequestExpired",
        "SignatureDoesNotMatch",
        "UnrecognizedClientException",
    }
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


def translated(error: Exception, address: QueueAddress) -> MemoryServerError:
    """Return our error for one of SQS or its client. Its message holds nothing that was sent, and no secret."""
    code = _code_of(error)
    if code in _MISSING:
        return ConfigurationError(
            f"{address} does not exist; create a standard queue of that name that keeps messages for 14 days: "
            f"aws sqs create-queue --queue-name {address.name} --attributes MessageRetentionPeriod={_RETENTION_SECONDS}"
        )
    if isinstance(error, NoRegionError):
        return ConfigurationError(f"no AWS region is set; write it as sqs://{address.name}?region=eu-west-1")
    if isinstance(error, _UNUSABLE_CREDENTIALS) or code in _NOT_KNOWN:
        return ConfigurationError(
            f"AWS accepts no credentials that were found ({code}); set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "
            "or AWS_PROFILE, or run where a role is attached, and check the clock of this machine"
        )
    if code in _NOT_ALLOWED:
        return ConfigurationError(f"the AWS credentials may not use {address} ({code}); allow it in their IAM policy")
    if "must be shorter than" in str(error):
        return TooLargeError(f"{address} takes no message of this size; raise its MaximumMessageSize")
    return UnavailableError(f"{address} did not do what was asked: {code}")


def _code_of(error: Exception) -> str:
    """Return the name that SQS gives the error, or the name of its class when SQS never answered."""
    answer = error.response if isinstance(error, ClientError) else {}
    return answer.get("Error", {}).get("Code", "") or type(error).__name__
