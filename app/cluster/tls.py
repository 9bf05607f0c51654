"""The TLS side of an access: whom to trust, and the caller's own certificate."""

import base64
import binascii
import os
import ssl
import tempfile
from pathlib import Path

from app.cluster.errors import ConfigError
from app.cluster.execplugin import Credential
from app.cluster.kubeconfig import Access


def trust(access: Access, credential: Credential) -> ssl.SSLContext:
    """What the server's certificate is checked against, and the caller's own certificate. Raises `ConfigError`."""
    cluster = access.cluster
    try:
        if cluster.certificate_authority_data:
            context = ssl.create_default_context(cadata=_decoded(access, cluster.certificate_authority_data))
        else:
            context = ssl.create_default_context(cafile=cluster.certificate_authority or None)
    except OSError as problem:
        raise ConfigError(
            f"{access.title}: the certificate-authority cannot be used: {problem.strerror or problem}"
        ) from None
    # Authorities of clusters often lack what Python asks for from 3.13 on; kubectl does not ask for it.
    context.verify_flags &= ~getattr(ssl, "VERIFY_X509_STRICT", 0)
    if cluster.insecure_skip_tls_verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    _identify(context, access, credential)
    return context


def _identify(context: ssl.SSLContext, access: Access, credential: Credential) -> None:
    """Loads the client certificate, if there is one. Python wants files, so data is written to private ones."""
    user = access.user
    with tempfile.TemporaryDirectory(prefix="hangar-") as folder:
        certificate = _file(Path(folder, "certificate"), access, user.client_certificate_data, user.client_certificate)
        key = _file(Path(folder, "key"), access, user.client_key_data, user.client_key)
        if credential.certificate:
            certificate = _write(Path(folder, "certificate"), credential.certificate)
            key = _write(Path(folder, "key"), credential.key)
        if not certificate and not key:
            return
        if not (certificate and key):
            raise ConfigError(f"user {access.user_name} has a client certificate or a key, and not both")
        try:
            context.load_cert_chain(certificate, key, password=lambda: b"")
        except OSError as problem:
            why = "the key does not fit, is encrypted, or one of the two is no PEM"
            reason = why if isinstance(problem, ssl.SSLError) else f"{problem.strerror}: {certificate}, {key}"
            raise ConfigError(f"the client certificate of user {access.user_name} cannot be used: {reason}") from None


def _file(path: Path, access: Access, data: str, file: str) -> str:
    return _write(path, _decoded(access, data)) if data else file


def _write(path: Path, content: str) -> str:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(content)
    return str(path)


def _decoded(access: Access, data: str) -> str:
    try:
        return base64.b64decode(data, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise ConfigError(f"{access.title}: a …-data field of its kubeconfig is no base64 of a PEM file") from None
