"""The one exception that reaches a user: a field, the value it was given, and what is allowed."""


class UserError(ValueError):
    """Bad input. The command line prints it as one line and ends with exit code 2.

    field: name of the option, config entry or file that is wrong.
    value: what was given.
    allowed: what would have been accepted, in words.
    """

    def __init__(self, field: str, value: object, allowed: str):
        self.field, self.value, self.allowed = field, value, allowed
        super().__init__(" ".join(f"{field}: {value!r} is not possible; allowed: {allowed}".split()))

    def __reduce__(self):
        """As it was made, so that it comes whole out of another process."""
        return type(self), (self.field, self.value, self.allowed)
