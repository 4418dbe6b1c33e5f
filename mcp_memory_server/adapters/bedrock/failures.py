"""Maps errors of Bedrock to ours."""

from mcp_memory_server.adapters.aws.account_failures import about_the_account, code_of
from mcp_memory_server.adapters.bedrock.address import ModelAddress
from mcp_memory_server.errors import ConfigurationError, MemoryServerError, TooLargeError, UnavailableError

_NOT_THERE = frozenset({"ResourceNotFoundException", "ValidationException"})
_TOO_LONG = ("too many input tokens", "maxlength", "too long")


def translated(error: Exception, address: ModelAddress) -> MemoryServerError:
    """Return our error for one of Bedrock or its client. Its message holds no sent data and no secret."""
    code = code_of(error)
    if code == "ValidationException" and any(words in str(error).lower() for words in _TOO_LONG):
        return TooLargeError(f"{address} accepts no text of this length")
    if code in _NOT_THERE:
        return ConfigurationError(
            f"{address} rejects this kind of request ({code}); check the id, the region and the dimensions"
        )
    account = about_the_account(
        error,
        address,
        written=f"bedrock://{address.model_id}?region=eu-west-1",
        allowed="bedrock:InvokeModel",
    )
    return account or UnavailableError(f"{address} refused the request: {code}")
