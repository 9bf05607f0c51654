import orjson

from app.kube.hook import JSON
from app.kube.shape import LAST_APPLIED, kept


def _service(applied: JSON | str | None, **observed: object) -> JSON:
    annotations = {} if applied is None else {LAST_APPLIED: applied if isinstance(applied, str) else _text(applied)}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "annotations": annotations}, **observed}


def _text(applied: JSON) -> str:
    return orjson.dumps({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, **applied}).decode()


def test_what_others_set_is_not_claimed() -> None:
    item = _service(
        {"spec": {"selector": {"a": "b"}}}, spec={"selector": {"a": "b", "c": "d"}, "clusterIP": "10.0.0.1"}
    )
    assert kept(item)["spec"] == {"selector": {"a": "b"}}


def test_drift_is_returned_as_it_is_and_not_re_imposed() -> None:
    ports = [{"port": 8000, "targetPort": 9999, "protocol": "TCP"}]
    item = _service({"spec": {"ports": [{"port": 8000, "targetPort": 8000}]}}, spec={"ports": ports})
    assert kept(item)["spec"] == {"ports": [{"port": 8000, "targetPort": 9999}]}


def test_a_field_that_somebody_removed_stays_removed() -> None:
    assert kept(_service({"spec": {"selector": {"a": "b"}}}, spec={"type": "ClusterIP"}))["spec"] == {}


def test_list_items_of_others_are_not_claimed() -> None:
    item = _service(
        {"spec": {"ports": [{"port": 80, "name": "a"}]}},
        spec={"ports": [{"port": 443, "name": "theirs"}, {"port": 80, "name": "a", "protocol": "TCP"}]},
    )
    assert kept(item)["spec"]["ports"] == [{"port": 80, "name": "a"}]


def test_a_plain_list_is_returned_whole() -> None:
    item = _service({"spec": {"externalIPs": ["1.2.3.4"]}}, spec={"externalIPs": ["5.6.7.8"]})
    assert kept(item)["spec"]["externalIPs"] == ["5.6.7.8"]


def test_an_edited_annotation_never_loses_the_childs_name() -> None:
    assert kept(_service('{"metadata":{}}'))["metadata"]["name"] == "s"
    item = _service('{"metadata":{},"spec":{"ports":[{"port":{}}]}}', spec={"ports": [{"port": 80}]})
    assert kept(item)["spec"] == {"ports": [{"port": 80}]}


def test_without_a_readable_last_answer_only_the_identity_is_returned() -> None:
    identity = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}
    for applied in (None, "", "not json", "[1]", "{}", '{"metadata":1}'):
        assert kept(_service(applied, spec={"clusterIP": "10.0.0.1"})) == identity
