"""Credentials in names and texts: which flags, variables and fields hold one, and where one stands in a string."""

import re
from collections.abc import Callable

_CREDENTIALS = frozenset({"token", "secret", "password", "passwd", "pwd", "passphrase", "apikey", "authorization"})
_CREDENTIALS |= {"credential", "credentials"}
_KEYS = frozenset({"key", "keys"})
# Fields are told by more of their name: a `topologyKey` or a `pullSecret` is a name, no credential.
_FIELDS = (
    "password",
    "passwd",
    "passphrase",
    "token",
    "clientsecret",
    "apikey",
    "accesskey",
    "secretkey",
    "privatekey",
)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

_TEXT_PATTERNS = (
    re.compile(r"(?P<before>[A-Za-z][A-Za-z0-9+.-]*://(?:[^/?#\s@:]*:)?)(?P<value>[^/?#\s@]+)(?=@)"),
    re.compile(r"(?P<before>\bBearer\s+)(?P<value>[\w.~+/=-]{8,})"),
    re.compile(r"(?P<before>-----BEGIN [A-Z ]*PRIVATE KEY-----)(?P<value>.*?)(?=-----END|$)", re.DOTALL),
)
# `--flag value`, `--flag=value`, `NAME=value` and `?name=value`, as far as the name is that of a credential.
_NAMED = re.compile(
    r"(?P<name>(?<![\w-])--?[A-Za-z][\w-]*|(?<![\w-])[A-Za-z_]\w*(?==)|(?<=[?&])[\w-]+)(?P<before>=|(?<=\w)\s+(?=[^\s-]))"
    r"(?P<quote>[\"']?)(?P<value>[^\s\"'&]+)"
)


def key_like(name: str) -> bool:
    """Whether a flag or a variable of that name holds a credential: `--hf-token`, `AWS_SECRET_ACCESS_KEY`."""
    words = [word.lower() for word in _WORD.findall(name)]
    return bool(words) and (words[-1] in _CREDENTIALS or (words[-1] in _KEYS and len(words) > 1))


def key_field(name: str) -> bool:
    """Whether a field of an object of that name holds a credential: `apiKey`, `password`; `topologyKey` does not."""
    return "/" not in name and name.lower().replace("_", "").replace("-", "").endswith(_FIELDS)


def replace_credentials(text: str, hide: Callable[[str], str]) -> str:
    """`text` with each credential in it (in a URL, after a key-like flag, a bearer token …) as `hide` gives it."""

    def replace(found: re.Match[str]) -> str:
        start, end = found.start("value") - found.start(), found.end("value") - found.start()
        return found[0][:start] + hide(found["value"]) + found[0][end:]

    for pattern in _TEXT_PATTERNS:
        text = pattern.sub(replace, text)
    return _NAMED.sub(lambda found: replace(found) if key_like(found["name"]) else found[0], text)
