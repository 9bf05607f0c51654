"""What all tests share: the flag that rewrites fixtures, and how many examples Hypothesis tries."""

import pytest
from hypothesis import HealthCheck, settings

# `--hypothesis-profile=ci` tries more; .ci/run does.
settings.register_profile("dev", max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", max_examples=1000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("dev")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite-fixtures",
        action="store_true",
        help="write what the service answers now into tests/fixtures; review the difference before committing",
    )


@pytest.fixture
def rewrite_fixtures(request: pytest.FixtureRequest) -> bool:
    """Whether responses are written rather than compared."""
    return bool(request.config.getoption("--rewrite-fixtures"))
