"""The turnover gate, case by case. States: R ready, L loading; upper case matches the render, lower case differs."""

import pytest

from app.api.role import Role
from app.kube.pods import PodView, view
from app.modeldeployment.rollout import Turnover, turn_over
from app.modeldeployment.seats import RoleSeats, occupied


def _pod(ordinal: int, state: str) -> PodView:
    ready = state.upper() == "R"
    return view(
        f"ns/p-{ordinal}",
        {
            "metadata": {"name": f"p-{ordinal}"},
            "spec": {"nodeName": "n"},
            "status": {
                "phase": "Running",
                "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
            },
        },
    )


def _turn_over(states: str, gate: str = "Ready") -> Turnover:
    """One letter per seat; a dash is an empty one."""
    role = Role.model_validate({"name": "server", "replicas": len(states)})
    replicas = {i: occupied(role, i, {0: _pod(i, state)}) for i, state in enumerate(states) if state != "-"}
    outdated = [replicas[i] for i, state in enumerate(states) if state.islower()]
    return turn_over(RoleSeats(role, replicas), outdated, "Ready" if gate == "Ready" else "Admitted")


@pytest.mark.parametrize(
    ("states", "victim"),
    [
        ("RRR", None),
        ("rrr", 2),
        ("rrR", 1),
        ("rRR", 0),
        ("r", 0),
        ("RRl", 2),
        ("lrr", 0),
        ("lLr", 0),
        ("lll", 2),
        ("l-r", 0),
    ],
)
def test_the_victim_is_the_broken_one_first_then_the_highest_seat(states: str, victim: int | None) -> None:
    assert _turn_over(states).victim == victim


@pytest.mark.parametrize(
    ("states", "why"),
    [
        ("rrL", "replica 2 of role server holds the gate: it does not serve (its containers are being created)"),
        ("r-R", "replica 1 of role server holds the gate: it does not exist yet"),
    ],
)
def test_a_serving_replica_waits_and_the_holder_of_the_gate_is_named(states: str, why: str) -> None:
    assert _turn_over(states) == Turnover(held_by=why)


def test_gate_admitted_waits_only_until_the_others_exist() -> None:
    assert _turn_over("rrL", "Admitted").victim == 1
    assert _turn_over("rr-", "Admitted").victim is None
