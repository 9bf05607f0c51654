"""Probes as arithmetic: when a probe first sees an answer, and when it gives up on a container that does not answer.

All times are seconds since the container's process started. A probe runs after its initial delay and then every period.
"""

import math

from app.kube.hook import JSON

# What is so close to a run of a probe is that run: times are sums of floats.
_CLOSE = 1e-6


def first_success(probe: JSON, answers_from: float) -> float:
    """When a probe has succeeded often enough, where the container answers from `answers_from` on."""
    if math.isinf(answers_from):
        return math.inf
    return _run_at(probe, answers_from) + (_count(probe, "successThreshold", 1) - 1) * _period(probe)


def gives_up(probe: JSON, silent_from: float) -> float:
    """When a probe has failed often enough in a row, where the container is silent from `silent_from` on."""
    return _run_at(probe, silent_from) + (_count(probe, "failureThreshold", 3) - 1) * _period(probe)


def startup_budget(probe: JSON) -> float:
    """After how long a container that never answered is restarted."""
    return _delay(probe) + _period(probe) * _count(probe, "failureThreshold", 3)


def _run_at(probe: JSON, moment: float) -> float:
    """The first run of a probe at `moment` or later."""
    delay, period = _delay(probe), _period(probe)
    return delay + max(0, math.ceil((moment - delay - _CLOSE) / period)) * period


def _delay(probe: JSON) -> float:
    return float(probe.get("initialDelaySeconds", 0))


def _period(probe: JSON) -> float:
    return float(probe.get("periodSeconds", 10))


def _count(probe: JSON, field: str, default: int) -> int:
    return int(probe.get(field, default))
