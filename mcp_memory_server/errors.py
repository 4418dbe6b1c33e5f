"""Every error this package raises, on one screen.

MemoryServerError
├── InvalidRequestError       the caller sent something that can never work
│   └── TooLargeError         … because it is too big
├── NotFoundError             it names a memory that is not there
├── ConflictError             someone else wrote first; nothing was written
├── ForgottenError            the user asked to forget this; it is not learned again
├── UnavailableError          it could not be looked up or saved now; it may work later
│   ├── TableUnavailableError … the table did not answer in time
│   │   └── TableThrottledError   … because it was asked too often
│   ├── CacheUnavailableError … the session memory did not answer in time
│   ├── ModelUnavailableError … a model did not answer in time; that may have cost something
│   │   └── ModelBusyError    … because it refused to begin; that cost nothing
│   └── TableFullError        … there is no room left to write
├── TableDamagedError         the stored data is damaged, or is not ours
└── ConfigurationError        a setting is wrong; the message names it
"""


class MemoryServerError(Exception):
    """Anything that goes wrong in this package. The message is safe to show: no secrets, no memory text."""


class InvalidRequestError(MemoryServerError):
    """The request can never work as it is. The message says what would be right."""


class TooLargeError(InvalidRequestError):
    """Something is over its limit. Nothing was written."""


class NotFoundError(MemoryServerError):
    """The request names something that does not exist."""


class ConflictError(MemoryServerError):
    """The stored version is not the expected one. Nothing was written."""


class ForgottenError(MemoryServerError):
    """The user asked to forget this statement, so it was not learned again."""


class UnavailableError(MemoryServerError):
    """It could not be looked up or saved now. This says nothing about what is known."""


class TableUnavailableError(UnavailableError):
    """The table did not answer in time, or refused to. A write may or may not have happened."""


class TableThrottledError(TableUnavailableError):
    """The table refused until time was up, because more was asked of it than it takes in a second."""


class CacheUnavailableError(UnavailableError):
    """The session memory did not answer in time. The table has the truth; only speed is lost."""


class ModelUnavailableError(UnavailableError):
    """A model gave no answer, or none in time. It may have cost something."""


class ModelBusyError(ModelUnavailableError):
    """A model refused before it did anything: too many requests, overloaded, not reached. It cost nothing."""


class TableFullError(UnavailableError):
    """There is no room left to write. What was stored before is intact."""


class TableDamagedError(MemoryServerError):
    """The stored data is damaged or belongs to another program. It was left untouched."""


class ConfigurationError(MemoryServerError):
    """A setting is missing or wrong. The message names the setting and a value that would work."""
