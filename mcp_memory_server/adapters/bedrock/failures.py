"""What the errors of Bedrock are called in this package."""

from mcp_memory_server.adapters.aws.failures import about_the_account, code_of
from mcp_memory_server.adapters.bedrock.address import ModelAddress
from mcp_memory_server.errors import ConfigurationError, MemoryServerError, TooLargeError, UnavailableError

_NOT_THERE = frozenset({"ResourceNotFoundException", "ValidationException"})
_TOO_LONG = ("too many input tokens", "maxlength", "too long")


def translated(error: Exception, address: ModelAddress) -> MemoryServerError:
    """Return our error for one of Bedrock or its client. Its message holds nothing that was sent, and no secret."""
    code = code_of(error)
    if code == "ValidationException" and any(words in str(error).lower() for words in _TOO_LONG):
        return TooLargeError(f"{address} takes no text of this length")
    if code in _NOT_THERE:
        return ConfigurationError(
            f"{address} cannot be asked this way ({code}); check its id, that its region has it, and its dimensions"
        )
    account = about_the_account(
        error,
        address,
        written=f"bedrock://{address.model_id}?region=eu-west-1",
        allowed="bedrock:InvokeModel",
    )
    return account or UnavailableError(f"{address} did not do what was asked: {code}")
