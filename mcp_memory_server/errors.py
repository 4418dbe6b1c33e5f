"""Every error this package raises, on one screen.

MemoryServerError
├── InvalidRequestError       the caller sent something that can never work
│   └── TooLargeError         … because it is too big
├── NotPermittedError         the token does not permit it
├── NotFoundError             it names a memory that does not exist
├── ConflictError             another write came first; nothing was written
├── ForgottenError            the user asked to forget this; it was not learned again
├── UnavailableError          it could not be read or written now; it may work later
│   ├── TableUnavailableError … the table did not answer in time
│   │   └── TableThrottledError   … because it throttled the request
│   ├── CacheUnavailableError … the session cache did not answer in time
│   ├── ModelUnavailableError … a model did not answer in time; it may have cost money
│   │   └── ModelBusyError    … because it refused the request; that cost nothing
│   ├── TableFullError        … the disk or table is full
│   └── BusyError             … this user has used up their share for now
├── TableDamagedError         the stored data is damaged, or of another program
└── ConfigurationError        a setting is wrong; the message names it
"""

import math


class MemoryServerError(Exception):
    """Anything that goes wrong in this package. The message is safe to show: no secrets, no memory text."""


class InvalidRequestError(MemoryServerError):
    """The request can never work as it is. The message says what would be right."""


class TooLargeError(InvalidRequestError):
    """Something is over its limit. Nothing was written."""


class NotPermittedError(MemoryServerError):
    """The request has no token, or one that does not permit this. Nothing was read or written."""


class NotFoundError(MemoryServerError):
    """The request names something that does not exist."""


class ConflictError(MemoryServerError):
    """The stored version is not the expected one. Nothing was written."""


class ForgottenError(MemoryServerError):
    """The user asked to forget this statement, so it was not learned again."""


class UnavailableError(MemoryServerError):
    """The memory could not be read or written now. It does not mean that nothing is known."""


class TableUnavailableError(UnavailableError):
    """The table did not answer in time, or refused to. A write may or may not have happened."""


class TableThrottledError(TableUnavailableError):
    """The table throttled the request until its deadline."""


class CacheUnavailableError(UnavailableError):
    """The session cache did not answer in time. The table has the truth; only speed is lost."""


class ModelUnavailableError(UnavailableError):
    """A model gave no usable reply in time. It may have cost money."""


class ModelBusyError(ModelUnavailableError):
    """A model refused the request or was not reached: rate limit, overload, network. It cost nothing."""


class TableFullError(UnavailableError):
    """No space is left. The data stored before is intact."""


class BusyError(UnavailableError):
    """The user is over a limit. Nothing was done; ``retry_after`` says in how many seconds it will be."""

    def __init__(self, limit: str, retry_after: float) -> None:
        """Say which limit it is."""
        self.retry_after = max(math.ceil(retry_after), 1)
        super().__init__(f"busy: {limit}; try again in {self.retry_after} s")


class TableDamagedError(MemoryServerError):
    """The stored data is damaged or belongs to another program. It was left untouched."""


class ConfigurationError(MemoryServerError):
    """A setting is missing or wrong. The message names the setting and a value that would work."""
