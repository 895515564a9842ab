"""The one error tree.

AgonError
├── InvalidInput            the caller's words break a rule; names the field
│   └── LimitExceeded       a size or count is over its bound
├── NotFound                no such thing, or not this person's
├── Conflict                the thing is in a state that does not allow this
├── NotAllowed              the caller has not shown who they are, or may not do this
├── Unavailable             the arena cannot do it now; trying again later may work
│   └── Busy                too much is running; says when to try again
└── EngineError             a model's server failed; never shown to a voter in the engine's words
    ├── EngineUnreachable   no connection, or it broke before the first token
    ├── EngineRejected      the engine refused the request
    ├── EngineTruncated     the stream ended without its ending
    └── EngineTimeout       no progress in time

Every error carries a machine-readable `code`, a plain sentence, and the `field` it speaks of, if any.
"""


class AgonError(Exception):
    """Base of everything Agon raises on purpose."""

    default_code = "error"

    def __init__(self, message: str, *, code: str | None = None, field: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self.default_code
        self.field = field


class InvalidInput(AgonError):
    default_code = "invalid_input"


class LimitExceeded(InvalidInput):
    default_code = "limit_exceeded"


class NotFound(AgonError):
    default_code = "not_found"


class Conflict(AgonError):
    default_code = "conflict"


class NotAllowed(AgonError):
    default_code = "not_allowed"


class Unavailable(AgonError):
    default_code = "unavailable"


class Busy(Unavailable):
    """Too much is running. `retry_after_s` is an honest estimate in seconds."""

    default_code = "busy"

    def __init__(self, message: str, *, retry_after_s: float, code: str | None = None) -> None:
        super().__init__(message, code=code)
        self.retry_after_s = retry_after_s


class EngineError(AgonError):
    default_code = "engine_error"


class EngineUnreachable(EngineError):
    default_code = "engine_unreachable"


class EngineRejected(EngineError):
    default_code = "engine_rejected"


class EngineTruncated(EngineError):
    default_code = "engine_truncated"


class EngineTimeout(EngineError):
    default_code = "engine_timeout"
