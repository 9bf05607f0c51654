import re

from hypothesis import given
from hypothesis import strategies as st

from app.kube import names

LABEL = re.compile(r"^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$")
deployments = st.from_regex(r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?", fullmatch=True)
roles = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?", fullmatch=True)


@given(deployments, roles, st.integers(0, 999), st.integers(0, 63))
def test_every_name_fits_a_dns_label_and_a_group_name_a_label_value(
    deployment: str, role: str, ordinal: int, member: int
) -> None:
    found = [
        names.pod(deployment, role, ordinal, member, size=64),
        names.pod(deployment, role, ordinal, 0, size=1),
        names.headless_service(deployment, role),
        names.role_service(deployment, role),
        f"mdep-{names.seat(deployment, role, ordinal)}",
    ]
    assert [name for name in found if not LABEL.match(name)] == []


def test_two_deployments_never_share_a_seat_name() -> None:
    assert names.seat("a", "b-c", 0) != names.seat("a-b", "c", 0)


def test_cutting_never_makes_two_roles_share_a_seat() -> None:
    long = "d" * 40
    assert names.seat(long, "role-one-of-many", 0) != names.seat(long, "role-one-of-more", 0)


def test_seat_names_are_what_they_have_been() -> None:
    """A changed name would restart every engine."""
    assert names.pod("qwen", "decode", 2, 0, size=1) == "qwen-decode-5f369e-2"
    assert names.pod("qwen", "decode", 2, 1, size=2) == "qwen-decode-5f369e-2-1"
    assert names.headless_service("qwen", "decode") == "qwen-decode-5f369e-pods"
