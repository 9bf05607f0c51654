"""What the API server answers when it refuses, with its HTTP status and its own wording."""


class ApiError(Exception):
    """A refusal of the API server."""

    code = 500


class BadRequest(ApiError):
    """400: a value that does not fit the type of its field."""

    code = 400


class Forbidden(ApiError):
    """403: not now, for example because the namespace is being deleted."""

    code = 403


class NotFound(ApiError):
    """404: no such object, or no such namespace."""

    code = 404


class AlreadyExists(ApiError):
    """409 on create: the name is taken."""

    code = 409


class Conflict(ApiError):
    """409 on write: the object was modified since it was read, or it is not the one that was meant."""

    code = 409


class Invalid(ApiError):
    """422: the object breaks a rule of its kind. `problems` are `(path, what is wrong)`."""

    code = 422

    def __init__(self, kind: str, name: str, problems: list[tuple[str, str]]) -> None:
        listed = [f"{path}: {problem}" for path, problem in problems]
        text = listed[0] if len(listed) == 1 else f"[{', '.join(listed)}]"
        super().__init__(f'{kind} "{name}" is invalid: {text}')
        self.problems = problems


class UnknownKind(ApiError):
    """Discovery does not know the kind or resource."""

    code = 404
