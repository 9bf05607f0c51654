"""Bounds on what is written for people."""

MAX_MESSAGE = 1024
_END = " …"


def clip(text: str, limit: int = MAX_MESSAGE) -> str:
    """`text`, cut to at most `limit` characters; a cut text ends in an ellipsis."""
    return text if len(text) <= limit else text[: limit - len(_END)] + _END
