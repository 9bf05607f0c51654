"""The three health gates of an engine, and the shapes that carry none.

All three read the engine's own `GET /health`. On vLLM its socket refuses until the model is loaded; SGLang listens at
once and answers 503 meanwhile, so a TCP gate or `/v1/models` would say too much.
"""

from typing import Literal

from app.kube.hook import JSON
from app.modeldeployment.engines import Key
from app.modeldeployment.render.subject import Subject

Scheme = Literal["http", "https"]

PERIOD_SECONDS = 10
TIMEOUT_SECONDS = 3
# Thirty minutes per attempt to load the model; the kubelet looks at the other two only after that.
STARTUP_FAILURES = 180
READINESS_FAILURES = 3
# Wider than readiness: leaving a Service is undone by answering again, a restart throws the loaded model away.
LIVENESS_FAILURES = 6

# CERT_NONE and CERT_OPTIONAL: a probe, which has no certificate, still gets through.
_PROBES_PASS = (0, 1)


def gated(subject: Subject) -> bool:
    """Whether the leader's readiness comes from the engine; else it only says that the process started."""
    moved = Key.HOST in subject.flags or Key.PORT in subject.flags
    return not (subject.unmanaged or moved or subject.protocol != "TCP" or _demands_certificate(subject))


def gates(subject: Subject) -> JSON:
    """The probes of the leader's container."""
    return {
        "startupProbe": _probe(subject, STARTUP_FAILURES),
        "readinessProbe": _probe(subject, READINESS_FAILURES),
        "livenessProbe": _probe(subject, LIVENESS_FAILURES),
    }


def scheme(subject: Subject) -> Scheme:
    """How the engine is spoken to."""
    return "https" if subject.secured else "http"


def _probe(subject: Subject, failures: int) -> JSON:
    return {
        "httpGet": {"path": "/health", "port": subject.port, "scheme": scheme(subject).upper()},
        "periodSeconds": PERIOD_SECONDS,
        "timeoutSeconds": TIMEOUT_SECONDS,
        "failureThreshold": failures,
    }


def _demands_certificate(subject: Subject) -> bool:
    """Whether a client must show a certificate, as far as can be told: anything but a clear no counts as yes."""
    if not subject.secured or Key.CLIENT_CERTIFICATE not in subject.flags:
        return False
    try:
        return int(subject.flags.value(Key.CLIENT_CERTIFICATE) or "") not in _PROBES_PASS
    except ValueError:
        return True
