"""What stands in the way of everything else: no sync, Stalled and its refusals, and what Pods say themselves."""

from typing import Any

import pytest

from app.api.reasons import AdmissionReason, Reason
from app.explain import Explanation, Finding, explain
from app.explain.replicas import _LOOK, OF_QUOTA
from app.kube.hook import JSON
from app.kube.reader import Forbidden, NotFound
from tests.support.shelf import Shelf, event, recorded

READY = "quota-reserved"
REFUSED = "missing-instance-type-keeps-what-runs"


def explained(objects: list[JSON], **shelf: Any) -> Explanation:
    return explain(Shelf(objects, **shelf), "team-a", "qwen")


def about(found: Explanation, what: str) -> Finding:
    return next(finding for finding in found.waits if finding.about == what)


def changed(case: str = READY, **status: Any) -> list[JSON]:
    """The objects of a case with parts of the deployment's status replaced."""
    objects = recorded(case)
    objects[0]["status"] |= status
    return objects


def stalled(reason: str, message: str = "spec.roles[0]: no", case: str = READY) -> list[JSON]:
    objects = recorded(case)
    condition = {"type": "Stalled", "status": "True", "reason": reason, "message": message}
    objects[0]["status"]["conditions"] = [condition]
    return objects


def test_a_deployment_that_was_never_synced_is_told_from_one_that_waits() -> None:
    objects = recorded(READY)
    objects[0]["status"] = {}
    failed = event(objects[0], "SyncError", "Sync error: 401 unauthorized")
    older = event(objects[0], "SyncError", "Sync error: connection refused", seconds_ago=50)
    found = explained([*objects, older, failed])
    assert found.summary == "team-a/qwen has no status yet."
    says = about(found, "observedGeneration").sentences
    assert says == (
        "No sync has written a status yet: Metacontroller does not call Hangar, or its calls fail.",
        "Event SyncError: Sync error: 401 unauthorized.",
        "Event SyncError: Sync error: connection refused.",
    )


def test_a_status_of_an_older_spec_is_said_to_be_one() -> None:
    objects = recorded(READY)
    objects[0]["metadata"]["generation"] = 4
    says = about(explained(objects), "observedGeneration").sentences
    assert says[0] == "The spec is at generation 4, and the status answers for generation 1."


def test_a_stored_status_that_is_nonsense_still_gives_an_answer() -> None:
    nonsense = {"conditions": [None, {"type": "Stalled"}], "roles": ["x"], "interruptions": {}, "observedGeneration": 1}
    objects = recorded(READY)
    objects[0] |= {"status": nonsense, "spec": {"roles": [{"replicas": "two"}, None]}}
    assert explained(objects).waits == ()


@pytest.mark.parametrize("reason", [Reason.SPEC_INVALID, Reason.ARGUMENT_OWNED, Reason.QUEUE_UNSUPPORTED])
def test_a_refusal_keeps_the_field_and_gives_the_command_to_correct_it(reason: Reason) -> None:
    finding = about(explained(stalled(reason)), "Stalled")
    assert finding.sentences[0] == "spec.roles[0]: no."
    assert finding.to_do == reason.action
    assert [command.line for command in finding.commands] == ["kubectl -n team-a edit modeldeployments.hangar.dev qwen"]


def test_a_reason_of_a_newer_hangar_is_passed_on_without_advice() -> None:
    finding = about(explained(stalled("NewerThanThis", "something new")), "Stalled")
    assert (finding.reason, finding.sentences[0], finding.to_do) == ("NewerThanThis", "something new.", "")


def test_a_missing_instance_type_is_told_from_those_there_are() -> None:
    other = {"apiVersion": "hangar.dev/v1alpha1", "kind": "InstanceType", "metadata": {"name": "a100"}, "spec": {}}
    assert "InstanceTypes there are: a100." in about(explained([*recorded(REFUSED), other]), "Stalled").sentences
    hidden = explained(recorded(REFUSED), denied=["InstanceType"])
    assert not any("InstanceTypes there are" in text for text in about(hidden, "Stalled").sentences)
    assert any(note.startswith("InstanceType objects") for note in hidden.unread)


def test_a_name_that_is_taken_names_who_has_it_and_not_our_own_service() -> None:
    objects = stalled(Reason.NAME_TAKEN)
    for name, owner in (("qwen", "someone"), ("qwen-server", objects[0]["metadata"]["uid"])):
        owners = [{"kind": "Application", "name": "shop", "uid": owner, "controller": True}]
        metadata = {"name": name, "namespace": "team-a", "ownerReferences": owners}
        objects = [item for item in objects if item["metadata"]["name"] != name or item["kind"] != "Service"]
        objects.append({"apiVersion": "v1", "kind": "Service", "metadata": metadata})
    finding = about(explained(objects), "Stalled")
    assert finding.sentences[1:] == ("Service qwen belongs to Application shop.",)


def test_pods_of_somebody_else_with_our_label_are_not_ours() -> None:
    objects = recorded("loading-model-is-starting")
    for item in objects:
        if item["kind"] == "Pod":
            item["metadata"]["ownerReferences"][0]["uid"] = "another-deployment-of-that-name-before"
    finding = about(explained(objects), "admission")
    assert not any("exists since" in sentence for sentence in finding.sentences)


def test_a_deployment_that_may_not_be_read_or_is_not_there_is_the_callers_to_hear() -> None:
    with pytest.raises(Forbidden):
        explained(recorded(READY), denied=["ModelDeployment"])
    with pytest.raises(NotFound):
        explain(Shelf(recorded(READY)), "team-a", "other")


def test_what_is_under_way_is_told_where_nothing_else_explains_it() -> None:
    condition = {"type": "Reconciling", "status": "True", "reason": "ScalingIn", "message": "1 replica leaves"}
    objects = changed(phase="Degraded", conditions=[condition], phaseMessage="1 of 2 replicas ready")
    finding = about(explained(objects), "Reconciling")
    assert finding.sentences == ("1 replica leaves.", "1 of 2 replicas ready.")
    assert finding.to_do == Reason.SCALING_IN.action


def test_many_interruptions_are_told_from_the_newest() -> None:
    entries = [{"role": "server", "reason": "Failed", "seats": str(n), "at": f"T{n}"} for n in range(12)]
    notes = explained(changed(interruptions=entries)).notes
    assert notes[0] == "Role server, replica 11: Failed at T11"
    assert notes[-1] == "And 4 more interruptions (status.interruptions)"


def test_every_reason_of_admission_is_told_by_somebody() -> None:
    """By its Pods with a command, or by the quota condition."""
    assert set(_LOOK) | OF_QUOTA == set(AdmissionReason)


@pytest.mark.parametrize("role", [{"name": "server", "replicas": 2}, {"name": "server", "replicas": 0}])
def test_only_a_role_of_one_replica_is_warned_of_an_edit(role: JSON) -> None:
    objects = recorded(READY)
    objects[0]["spec"]["roles"] = [role]
    objects[0]["status"]["roles"][0]["quotaReserved"] = 1
    assert explained(objects).notes == ()
