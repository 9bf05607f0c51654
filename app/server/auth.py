"""Bearer tokens from a file, compared in constant time."""

import hashlib
import hmac
import logging
from pathlib import Path

from app.settings import SettingsError

log = logging.getLogger(__name__)

_SCHEME = "bearer "


class Tokens:
    """The tokens of one file, one per line; two are accepted while one is being replaced.

    The file is read again when it changes. One that has gone or is empty by then changes nothing: the tokens of the
    last good reading stay, so that a Secret in mid-update locks nobody out.
    """

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._stamp = self._look()
        self._digests = self._read()
        self._complaint = ""

    def allow(self, authorization: str) -> bool:
        """Whether an `Authorization` header carries one of the tokens."""
        self._refresh()
        if authorization[: len(_SCHEME)].lower() != _SCHEME:
            return False
        presented = _digest(authorization[len(_SCHEME) :].strip())
        # All are compared, and hashes have one length: the time taken tells nothing about a token.
        return sum([hmac.compare_digest(presented, known) for known in self._digests]) > 0

    def _refresh(self) -> None:
        try:
            stamp = self._look()
            if stamp == self._stamp:
                return
            self._digests, self._stamp = self._read(), stamp
            self._complaint = ""
            log.info("read %d bearer tokens again", len(self._digests))
        except SettingsError as problem:
            if str(problem) != self._complaint:  # once, not at every call
                log.warning("keeping the bearer tokens as they were: %s", problem)
            self._complaint = str(problem)

    def _look(self) -> tuple[int, int, int]:
        """What changes when the file does; a Secret's volume swaps a link, so the inode is part of it."""
        try:
            found = self._path.stat()
        except OSError as problem:
            raise SettingsError(f"HANGAR_TOKEN_FILE {self._path}: {problem.strerror}") from None
        return found.st_mtime_ns, found.st_ino, found.st_size

    def _read(self) -> list[bytes]:
        try:
            lines = self._path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            raise SettingsError(f"HANGAR_TOKEN_FILE {self._path} cannot be read as text") from None
        tokens = [line.strip() for line in lines if line.strip()]
        if not tokens:
            raise SettingsError(f"HANGAR_TOKEN_FILE {self._path} holds no token: write one per line")
        return [_digest(token) for token in tokens]


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
