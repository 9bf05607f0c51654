"""The hooks over TLS: both files or none, and a certificate that is renewed counts without a restart."""

import os
import shutil
import signal
import ssl
import subprocess
from pathlib import Path

import httpx
import pytest

from app.server.tls import Certificate
from app.settings import ServerSettings, SettingsError
from tests.server.served import PATH, PATIENCE, REQUEST, serving

OPENSSL = shutil.which("openssl")
needs_openssl = pytest.mark.skipif(OPENSSL is None, reason="no openssl command to make a certificate with")


def issue(folder: Path, *options: str) -> tuple[Path, Path]:
    """A fresh self-signed certificate for 127.0.0.1 and its key, under the same two names each time."""
    assert OPENSSL is not None
    certificate, key = folder / "tls.crt", folder / "tls.key"
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -days 1 -subj /CN=hangar"
    files = ("-addext", "subjectAltName=IP:127.0.0.1", "-out", str(certificate), "-keyout", str(key))
    subprocess.run([OPENSSL, *words.split(), *files, *(options or ("-nodes",))], check=True, capture_output=True)  # noqa: S603
    return certificate, key


def trusting(certificate: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(certificate))


@needs_openssl
def test_hooks_are_called_over_tls_and_a_renewed_certificate_is_shown_at_once(tmp_path: Path) -> None:
    certificate, key = issue(tmp_path)
    first = trusting(certificate)
    with serving("--no-auth", HANGAR_TLS_CERT_FILE=str(certificate), HANGAR_TLS_KEY_FILE=str(key)) as served:
        served.await_ready()
        assert served.hooks.startswith("https://")
        assert httpx.post(served.hooks + PATH, content=REQUEST, verify=first).status_code == 200
        assert served.get("/metrics").status_code == 200  # the operations port stays plain: probes have no trust store
        issue(tmp_path)
        assert httpx.post(served.hooks + PATH, content=REQUEST, verify=trusting(certificate)).status_code == 200
        with pytest.raises(httpx.ConnectError, match="certificate verify failed"):
            httpx.post(served.hooks + PATH, content=REQUEST, verify=first)


@needs_openssl
def test_a_certificate_that_is_half_replaced_locks_nobody_out(tmp_path: Path) -> None:
    certificate, key = issue(tmp_path)
    first = trusting(certificate)
    with serving("--no-auth", HANGAR_TLS_CERT_FILE=str(certificate), HANGAR_TLS_KEY_FILE=str(key)) as served:
        served.await_ready()
        (tmp_path / "other").mkdir()
        shutil.copy(issue(tmp_path / "other")[0], certificate)
        assert httpx.post(served.hooks + PATH, content=REQUEST, verify=first).status_code == 200
        assert "key values mismatch" in served.until("keeping the certificate as it was")["message"]


@needs_openssl
@pytest.mark.parametrize("fault", ["no key", "no certificate", "encrypted key"])
def test_files_that_cannot_be_used_end_the_start_with_what_to_name(tmp_path: Path, fault: str) -> None:
    certificate, key = issue(tmp_path, *(("-passout", "pass:secret") if fault == "encrypted key" else ()))
    if fault != "encrypted key":
        (key if fault == "no key" else certificate).write_text("not this")
    with pytest.raises(SettingsError) as problem:
        Certificate(str(certificate), str(key))
    assert str(problem.value).startswith(f"HANGAR_TLS_CERT_FILE {certificate} and HANGAR_TLS_KEY_FILE {key} cannot be")
    assert str(problem.value).endswith("name a PEM certificate (with its chain) and its unencrypted PEM key")
    assert "\n" not in str(problem.value)


@needs_openssl
def test_a_worker_that_cannot_read_the_certificate_says_so_and_the_service_gives_up(tmp_path: Path) -> None:
    certificate, key = issue(tmp_path)
    with serving("--no-auth", HANGAR_TLS_CERT_FILE=str(certificate), HANGAR_TLS_KEY_FILE=str(key)) as served:
        served.await_ready()
        certificate.unlink()
        os.kill(served.workers().pop(), signal.SIGKILL)
        assert "No such file" in served.until("cannot start")["message"]
        assert served.process.wait(timeout=PATIENCE) == 1


@pytest.mark.parametrize(("given", "missing"), [("CERT", "KEY"), ("KEY", "CERT")])
def test_one_file_without_the_other_is_refused(given: str, missing: str) -> None:
    with pytest.raises(SettingsError) as problem:
        ServerSettings.from_environment({"HANGAR_AUTH": "none", f"HANGAR_TLS_{given}_FILE": "/somewhere"})
    assert str(problem.value) == (
        f"HANGAR_TLS_{missing}_FILE is not set and HANGAR_TLS_{given}_FILE is: set both, or neither for plain HTTP"
    )
