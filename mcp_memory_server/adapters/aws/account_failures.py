"""Maps errors of AWS that concern the account: region, credentials and permissions."""

from typing import Any

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

from mcp_memory_server.errors import ConfigurationError

FOREIGN_ERRORS = (BotoCoreError, ClientError, ResponseParserError)

_NOT_ALLOWED = frozenset({"AccessDenied", "AccessDeniedException", "KmsAccessDenied", "NotAuthorized", "OptInRequired"})
_NOT_KNOWN = frozenset(
    {
        "ExpiredToken",
        "ExpiredTokenException",
        "IncompleteSignature",
        "IncompleteSignatureException",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "InvalidSecurity",
        "InvalidSignatureException",
        "MissingAuthenticationToken",
        "MissingAuthenticationTokenException",
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


def answer_of(error: Exception) -> dict[str, Any]:
    """Return the reply of the service, empty if there was none."""
    return getattr(error, "response", None) or {} if isinstance(error, ClientError) else {}


def code_of(error: Exception) -> str:
    """Return the service's name for the error, or the name of its class when the service never answered."""
    return answer_of(error).get("Error", {}).get("Code", "") or type(error).__name__


def about_the_account(
    error: Exception, what: object, *, written: str, allowed: str = "it"
) -> ConfigurationError | None:
    """Return our error for one about region, credentials or permissions; None for any other.

    ``written`` shows how the region is given; ``allowed`` is what the policy has to allow.
    """
    code = code_of(error)
    if isinstance(error, NoRegionError):
        return ConfigurationError(f"no AWS region is set; write it as {written}")
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
        return ConfigurationError(
            f"the AWS credentials may not use {what} ({code}); allow {allowed} in their IAM policy"
        )
    return None
