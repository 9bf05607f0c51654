"""TLS for the hooks: a certificate and its key from two files, read again when they change."""

import logging
import ssl
from pathlib import Path

from app.settings import SettingsError

log = logging.getLogger(__name__)

_Stamp = tuple[tuple[int, int, int], ...]


class Certificate:
    """The certificate that is shown to callers, by the files' last good reading.

    An issuer replaces both files every few weeks, one after the other: what does not fit together changes nothing.
    """

    def __init__(self, certificate: str, key: str) -> None:
        self._files = {"HANGAR_TLS_CERT_FILE": Path(certificate), "HANGAR_TLS_KEY_FILE": Path(key)}
        self._stamp = self._look()
        self._newest = self._read()
        self._complaint = ""

    def context(self) -> ssl.SSLContext:
        """What a server listens with; each handshake shows the newest certificate."""
        context = self._read()
        context.sni_callback = self._show_newest
        return context

    def _show_newest(self, connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        self._refresh()
        connection.context = self._newest

    def _refresh(self) -> None:
        try:
            stamp = self._look()
            if stamp == self._stamp:
                return
            self._newest, self._stamp = self._read(), stamp
            self._complaint = ""
            log.info("read the certificate again")
        except SettingsError as problem:
            if str(problem) != self._complaint:  # once, not at every handshake
                log.warning("keeping the certificate as it was: %s", problem)
            self._complaint = str(problem)

    def _look(self) -> _Stamp:
        """What changes when a file does; a Secret's volume swaps a link, so the inode is part of it."""
        found = []
        for name, path in self._files.items():
            try:
                status = path.stat()
            except OSError as problem:
                raise SettingsError(f"{name} {path}: {problem.strerror}") from None
            found.append((status.st_mtime_ns, status.st_ino, status.st_size))
        return tuple(found)

    def _read(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        certificate, key = self._files.values()
        try:
            # An empty password, where the library would else ask for one at the terminal.
            context.load_cert_chain(certificate, key, password="")
        except (OSError, ValueError) as problem:  # an SSLError is an OSError
            raise SettingsError(
                f"HANGAR_TLS_CERT_FILE {certificate} and HANGAR_TLS_KEY_FILE {key} cannot be used together "
                f"({_cause(problem)}): name a PEM certificate (with its chain) and its unencrypted PEM key"
            ) from None
        return context


def _cause(problem: Exception) -> str:
    """The library's word for it, without its place in the library's sources."""
    reason = getattr(problem, "reason", None) or getattr(problem, "strerror", None) or str(problem)
    return str(reason).lower().replace("_", " ")
