"""The turnover gate: which outdated replica of a role leaves in this pass, if any, and who holds the gate.

One victim per role. A victim that does not serve needs nothing more, so a broken edit is corrected at once. A serving
one waits until every declared replica exists and, with `gate: Ready`, every *other* one serves: so a good rollout
never takes two serving replicas.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from app.kube import trouble
from app.kube.pods import Progress
from app.modeldeployment.seats import Replica, RoleSeats


@dataclass(frozen=True, slots=True)
class Turnover:
    """The ordinal that leaves, or a sentence naming the replica that holds the gate, or neither."""

    victim: int | None = None
    held_by: str = ""


def turn_over(seats: RoleSeats, outdated: Sequence[Replica], gate: Literal["Ready", "Admitted"]) -> Turnover:
    """Chooses among `outdated` (whole replicas of declared seats): those that do not serve first, then the highest."""
    if not outdated:
        return Turnover()
    victim = max(outdated, key=lambda replica: (not replica.serves, replica.ordinal))
    if victim.serves:
        for ordinal in range(seats.role.replicas):
            why = "" if ordinal == victim.ordinal else _closed_by(seats.replicas.get(ordinal), gate)
            if why:
                return Turnover(held_by=f"replica {ordinal} of role {seats.role.name} holds the gate: {why}")
    return Turnover(victim=victim.ordinal)


def _closed_by(other: Replica | None, gate: Literal["Ready", "Admitted"]) -> str:
    """Why another replica keeps the gate closed, or the empty string where it does not."""
    if other is None:
        return "it does not exist yet"
    if other.terminating:
        node = other.terminating[0].node_name
        return f"it is still terminating on node {node}; remove or taint that node if it does not answer"
    if not other.whole:
        return "it lacks a member"
    if other.queued and not other.admitted:
        return "it holds no quota"
    if gate == "Ready" and not other.serves:
        waiting = next(pod for pod in other.members.values() if pod.progress is not Progress.READY)
        return f"it does not serve ({trouble.of(waiting)[1]})"
    return ""
