"""The errors a user may meet. Each is one line: what is wrong, where, and what is allowed."""


class TiclmError(Exception):
    """An error whose message is for the user; `exit_code` is what the command ends with."""

    exit_code = 1


class InputError(TiclmError):
    """Something the user wrote or pointed to is wrong: a file, a key, a value, a path."""

    exit_code = 2


class RunError(TiclmError):
    """Work that was rightly asked for could not be finished."""


class Diverged(RunError):
    """A loss or a gradient is no number any more; the same work again would come to the same."""


class Stopped(RunError):
    """Work that was asked to stop before its end; the same command goes on from there."""

    def __init__(self) -> None:
        super().__init__("stopped; the same command goes on from here")


class FutureMonthError(InputError):
    """Something at one period would read a later one (DESIGN: causality)."""

    def __init__(self, what: str, at: str, reads: str) -> None:
        super().__init__(f"{what} at period {at} would read period {reads}, which lies in its future")


class TiclmWarning(UserWarning):
    """Something that the user should know and that stops nothing, in one line."""
