"""Names and labels of what Hangar makes. One function makes seat names, so that no two seats share one.

A seat is a role's place for one replica: `<deployment>-<role>`, cut to 45 characters, then six characters of the
SHA-256 of deployment and role (so that cutting, or `a` + `b-c` beside `a-b` + `c`, never makes two alike), then the
ordinal. Members of a replica of several Pods add their index. The longest is 59 characters; with Kueue's group
prefix `mdep-` a seat stays below the 63 of a label value.
"""

import hashlib
from functools import lru_cache

from app.api.base import API_VERSION as API_VERSION
from app.api.base import GROUP as GROUP
from app.api.base import VERSION as VERSION

DEPLOYMENT = f"{GROUP}/deployment"
ROLE = f"{GROUP}/role"
ROLE_KIND = f"{GROUP}/role-kind"
REPLICA = f"{GROUP}/replica"
MEMBER = f"{GROUP}/member"
POD_HASH = f"{GROUP}/pod-hash"

APP_NAME = "app.kubernetes.io/name"
APP_COMPONENT = "app.kubernetes.io/component"
APP_MANAGED_BY = "app.kubernetes.io/managed-by"

_CUT = 45


def seat_prefix(deployment: str, role: str) -> str:
    """What all seats of a role begin with: the cut name and the hash, without a trailing dash."""
    digest = hashlib.sha256(f"{deployment}/{role}".encode()).hexdigest()[:6]
    return f"{f'{deployment}-{role}'[:_CUT].rstrip('-')}-{digest}"


def seat(deployment: str, role: str, ordinal: int) -> str:
    """The name of one replica's seat; the Pod's own name where a replica is one Pod."""
    return f"{seat_prefix(deployment, role)}-{ordinal}"


def group(deployment: str, role: str, ordinal: int) -> str:
    """The Kueue pod group of one replica, and so the name of its Workload before that exists."""
    return group_of(seat(deployment, role, ordinal))


def group_of(seat_name: str) -> str:
    """The pod group of a seat, by the seat's name (or by what it begins with)."""
    return f"mdep-{seat_name}"


@lru_cache(maxsize=4096)
def count(text: str) -> int | None:
    """The ordinal or member index that a part of a name or a label states: plain decimal digits, or None."""
    return int(text) if text.isdecimal() and text.isascii() and len(text) <= 4 and str(int(text)) == text else None


def is_in_group(pod_name: str, group_name: str) -> bool:
    """Whether a Pod of that name is a member of the replica that the group stands for."""
    member = group_of(pod_name)
    return member == group_name or (member.rpartition("-")[0] == group_name and member.rpartition("-")[2].isdecimal())


def pod(deployment: str, role: str, ordinal: int, member: int, size: int) -> str:
    """The name of one Pod: its seat, and its member index where a replica has several Pods."""
    name = seat(deployment, role, ordinal)
    return name if size == 1 else f"{name}-{member}"


def role_service(deployment: str, role: str) -> str:
    """The Service of one role. Never cut: the kinds' bounds (40 and 22) keep it within 63."""
    return f"{deployment}-{role}"


def headless_service(deployment: str, role: str) -> str:
    """The headless Service under which the members of a role's replicas find each other."""
    return f"{seat_prefix(deployment, role)}-pods"
