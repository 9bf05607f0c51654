"""`hangar resume`: what is parked asks for quota again, and only what is parked."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import orjson
import pytest
import yaml

from app.api.modeldeployment import ModelDeploymentSpec
from app.cli.main import exit_code
from app.cli.resume import resumed
from app.cluster import connect
from app.kube import times
from app.kube.hook import JSON
from tests.support.answers import answer
from tests.support.builders import NOW
from tests.support.fixtures import ROOT, Fixture
from tests.support.kubeapi import KubeApi, kubeconfig, serving
from tests.support.shelf import Shelf, recorded

ONE = "quota-one-replica-parked-by-kueue"
WHOLE = "parked-set-gives-its-quota-back"
RESUMED = ["resume", "qwen", "-n", "team-a"]


@contextmanager
def cluster(case: str, folder: Path, **spec: object) -> Iterator[tuple[KubeApi, JSON]]:
    """A cluster with one deployment, and that deployment as it is stored; KUBECONFIG is not touched."""
    objects = recorded(case)
    with serving(Shelf(objects)) as api:
        stored = api.shelf.objects[0]
        stored["spec"] |= spec
        (folder / "config").write_text(yaml.safe_dump(kubeconfig(api.url)))
        yield api, stored


def run(folder: Path) -> int:
    return exit_code([*RESUMED, "--kubeconfig", str(folder / "config")])


@pytest.mark.parametrize(("case", "what"), [(ONE, "server 1 was parked"), (WHOLE, "the whole set was parked")])
def test_what_is_parked_gets_a_fresh_value_and_is_named(
    case: str, what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with cluster(case, tmp_path) as (api, stored):
        assert run(tmp_path) == 0
        patched = api.calls[-1]
        value = stored["spec"]["resumedAt"]
    assert patched.body == {"metadata": {"resourceVersion": "1427"}, "spec": {"resumedAt": value}}
    assert times.parse(value) is not None
    said = capsys.readouterr().out
    assert f"team-a/qwen: {what} at 2026-11-29T" in said
    assert "The workload is deactivated" in said
    assert f"spec.resumedAt is now {value}." in said
    assert "Its replicas are made again and ask for quota as new Workloads" in said


def test_the_controller_makes_the_parked_replica_again_after_it(tmp_path: Path) -> None:
    request = Fixture(ROOT / "modeldeployment" / "parked-seat-stays-empty").request
    before = answer(request)
    with cluster("parked-seat-stays-empty", tmp_path) as (_, stored):
        assert run(tmp_path) == 0
        request["parent"] = stored
    after = answer(request)
    made = {child["metadata"]["name"] for child in after.children} - {c["metadata"]["name"] for c in before.children}
    assert [name for name in made if name.startswith("qwen-server")] == sorted(made)
    assert "parked" not in after.status
    ModelDeploymentSpec.model_validate(request["parent"]["spec"])


def test_nothing_parked_is_refused_with_what_is_so_instead(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with cluster("quota-pending-carries-kueues-words-once", tmp_path) as (api, _):
        assert run(tmp_path) == 1
        assert all(call.method == "GET" for call in api.calls)
    said = capsys.readouterr().err
    assert said.startswith("hangar: nothing of team-a/qwen is parked: QuotaReserved is False, Pending; hangar explain")


def test_a_deployment_without_status_has_nothing_parked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with cluster(ONE, tmp_path) as (_, stored):
        del stored["status"]
        assert run(tmp_path) == 1
    assert "nothing of team-a/qwen is parked: it has no status yet" in capsys.readouterr().err


def test_what_is_resumed_already_is_not_resumed_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with cluster(ONE, tmp_path) as (api, _):
        assert run(tmp_path) == 0
        assert run(tmp_path) == 1
        assert [call.method for call in api.calls].count("PATCH") == 1
    assert "team-a/qwen is resumed already (spec.resumedAt is 20" in capsys.readouterr().err


def test_a_deployment_that_is_being_deleted_stays_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with cluster(ONE, tmp_path) as (_, stored):
        stored["metadata"]["deletionTimestamp"] = "2026-11-29T12:00:00Z"
        assert run(tmp_path) == 1
    assert "team-a/qwen is being deleted, so there is nothing to resume" in capsys.readouterr().err


def test_reconciling_that_is_off_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with cluster(ONE, tmp_path, enabled=False):
        assert run(tmp_path) == 0
    assert "Reconciling is off (spec.enabled is false)" in capsys.readouterr().out


def test_a_status_that_is_written_meanwhile_does_not_stop_it(tmp_path: Path) -> None:
    with cluster(ONE, tmp_path) as (api, stored):
        api.meanwhile += [lambda: stored["metadata"].update(resourceVersion="1500")] * 2
        assert run(tmp_path) == 0
        assert "resumedAt" in stored["spec"]


def test_a_resume_by_somebody_else_meanwhile_is_seen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def other() -> None:
        stored["metadata"]["resourceVersion"] = "1500"
        stored["spec"]["resumedAt"] = "by-bob"

    with cluster(ONE, tmp_path) as (api, stored):
        api.meanwhile.append(other)
        assert run(tmp_path) == 1
        assert stored["spec"]["resumedAt"] == "by-bob"
    assert "is resumed already (spec.resumedAt is by-bob)" in capsys.readouterr().err


def test_an_object_that_never_rests_is_given_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with cluster(ONE, tmp_path) as (api, stored):
        versions = iter(range(2000, 2100))
        api.meanwhile += [lambda: stored["metadata"].update(resourceVersion=str(next(versions)))] * 50
        assert run(tmp_path) == 1
    assert "the object has been modified" in capsys.readouterr().err


def test_the_value_is_never_one_that_was_used_before(tmp_path: Path) -> None:
    used = times.render(NOW)
    with cluster(ONE, tmp_path, resumedAt=used) as (_, stored):
        stored["status"]["parked"]["resumedAt"] = used
        with connect(str(tmp_path / "config"), environment={}) as found:
            _, after = resumed(found, "team-a", "qwen", NOW)
    assert after["spec"]["resumedAt"] == times.render(NOW + timedelta(seconds=1))


def test_a_cluster_that_drops_the_field_is_no_success(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with cluster(ONE, tmp_path) as (api, stored):
        resources = {"resources": [{"name": "modeldeployments", "kind": "ModelDeployment", "namespaced": True}]}
        api.answers += [(200, orjson.dumps(one)) for one in (resources, stored, stored)]
        assert run(tmp_path) == 1
        assert api.calls[-1].method == "PATCH"
    assert "spec.resumedAt was not kept: renew the cluster's CRDs (hangar crds)" in capsys.readouterr().err
