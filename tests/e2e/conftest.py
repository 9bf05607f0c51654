"""Fixtures of the layer that needs a real control plane. `scripts/e2e` runs it; `scripts/test` does not collect it."""

import os
import signal
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from app.api.crd import crds
from app.kube.hook import JSON
from tests.e2e import builds, drivers, kubeconfig
from tests.e2e import kueue as kueues
from tests.e2e.additions import Additions
from tests.e2e.api import Api
from tests.e2e.cluster import ADMIN, Certificate, ControlPlane
from tests.e2e.deployments import NAMESPACES, a_namespace
from tests.e2e.drivers import Driver, driven
from tests.e2e.hook import served
from tests.e2e.kubelet import Kubelet
from tests.e2e.ownplane import own_control_plane
from tests.e2e.processes import Processes, free_ports
from tests.e2e.telling import told
from tests.e2e.waiting import eventually

HERE = Path(__file__).parent
CLUSTER = "HANGAR_E2E_CLUSTER"
LOGS = pytest.StashKey[Path]()
TELLING = pytest.StashKey[Callable[[], str]]()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "e2e: needs a real control plane; run by scripts/e2e")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """These cases are collected only where they are named."""
    named = (config.invocation_params.dir / argument.partition("::")[0] for argument in config.args)
    return None if any(one.resolve().is_relative_to(HERE) for one in named) else True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker("e2e")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config) -> None:
    if exitstatus != pytest.ExitCode.OK and LOGS in config.stash:
        terminalreporter.write_line(f"the logs of everything that was started: {config.stash[LOGS]}")


@pytest.fixture(scope="session")
def report(request: pytest.FixtureRequest) -> builds.Report:
    """Says at once, past pytest's capture, what takes long."""
    capture = request.config.pluginmanager.getplugin("capturemanager")
    terminal = request.config.pluginmanager.getplugin("terminalreporter")

    def say(text: str) -> None:
        with capture.global_and_fixture_disabled():
            terminal.write_line(text)

    return say


def _built(tools: builds.Toolset, report: builds.Report) -> Path:
    try:
        return builds.built(tools, report)
    except builds.NoGo as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def processes(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    """What this run starts; all of it ends with it, also where a signal ends the run."""
    before = signal.signal(signal.SIGTERM, lambda *_: pytest.exit("ended by SIGTERM"))
    folder = pytestconfig.stash[LOGS] = tmp_path_factory.mktemp("e2e")
    with Processes(folder) as started:
        yield started
    signal.signal(signal.SIGTERM, before)


@pytest.fixture(scope="session")
def kueue_port() -> int:
    """Where Kueue's webhooks listen: its definitions name it before it runs."""
    return free_ports(1)[0]


@pytest.fixture(scope="session")
def plane(
    request: pytest.FixtureRequest, report: builds.Report, processes: Processes, kueue_port: int
) -> Iterator[ControlPlane]:
    """A control plane of our own, or the cluster of KUBECONFIG where HANGAR_E2E_CLUSTER=1 allows it."""
    if os.environ.get(CLUSTER) == "1":
        yield kubeconfig.persons_cluster(Path(os.environ.get("KUBECONFIG") or Path.home() / ".kube" / "config"))
        return
    programs = _built(builds.KUBERNETES, report)
    # The garbage collector must know Kueue's kinds from its start, so they come first if any case is about Kueue.
    asked = any("kueue" in getattr(item, "fixturenames", ()) for item in request.session.items)
    kueue = _built(builds.KUEUE, report) if asked else None

    def definitions(certificate: Certificate) -> list[JSON]:
        return [*crds(), *(kueues.crds(kueue, certificate, kueue_port) if kueue else [])]

    with own_control_plane(programs, processes, definitions) as plane:
        yield plane


@pytest.fixture(scope="session")
def api(plane: ControlPlane) -> Iterator[Api]:
    """The API server, for an account that may do everything."""
    client = Api(plane.account(ADMIN).access)
    yield client
    client.close()


@pytest.fixture(scope="session")
def additions(plane: ControlPlane, api: Api) -> Iterator[Additions]:
    """What this run adds; on a person's cluster it is taken away again."""
    with Additions(api, leaves=not plane.own) as added:
        added.add_crds(crds())
        yield added


@pytest.fixture(scope="session")
def kubelet(plane: ControlPlane, api: Api) -> Iterator[Kubelet]:
    """A node that runs Pods in name."""
    with Kubelet(api, binds=plane.own) as playing:
        yield playing
        if not plane.own:  # a control plane of our own ends as a whole
            eventually(lambda: not api.all_of("Namespace.v1", selector=NAMESPACES), "the namespaces are gone", 120)


@pytest.fixture(scope="session")
def driver(
    plane: ControlPlane, api: Api, additions: Additions, kubelet: Kubelet, processes: Processes, report: builds.Report
) -> Iterator[Driver]:
    """Hangar, installed and called: by a real Metacontroller, by the loop of app.local, or as it is installed."""
    with ExitStack() as stack:
        found = None if plane.own else drivers.installed(api)
        if found is None:
            try:
                additions.add_crds(drivers.metacontroller_crds(os.environ))
            except drivers.Lacking as reason:
                pytest.skip(str(reason))
            hook = stack.enter_context(served(processes, kueue=api.kinds.serves(kueues.WORKLOAD)))
            found = stack.enter_context(driven(plane, api, hook, additions, processes))
        report(f"\nthe hooks are called by {found.title}")
        yield found


@pytest.fixture(scope="session")
def kueue(
    plane: ControlPlane, api: Api, kueue_port: int, kubelet: Kubelet, processes: Processes, report: builds.Report
) -> Iterator[None]:
    """Kueue's manager, ours or that of the person's cluster."""
    if not plane.own:
        if api.kinds.serves(kueues.WORKLOAD):
            yield
            return
        pytest.skip(f"the cluster does not serve {kueues.WORKLOAD}: Kueue is not installed there")
    programs = _built(builds.KUEUE, report)
    try:
        with kueues.managed(programs, plane, api, kueue_port, processes):
            yield
    except kueues.Lacking as reason:
        pytest.skip(str(reason))


@pytest.fixture
def space(request: pytest.FixtureRequest, api: Api) -> Iterator[str]:
    """A namespace of the test's own."""
    with a_namespace(api) as name:
        request.node.stash[TELLING] = lambda: told(api, name)
        yield name


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A case that failed shows what was in its namespace."""
    report = yield
    if report.failed and TELLING in item.stash:
        report.sections.append(("what was there", item.stash[TELLING]()))
    return report
