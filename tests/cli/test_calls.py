"""Reading Metacontroller's debug log: which response answers which request, and lines that are not whole."""

import pytest

from app.cli.calls import Call, DebugLog
from app.kube.hook import JSON
from tests.cli.logged import NOT_JSON, URL, a_request, answered, asked, line, other

DONE: JSON = {"status": {}, "children": []}


def read(*lines: bytes) -> tuple[list[Call], list[str]]:
    log = DebugLog()
    return list(log.calls(lines)), log.problems


def test_a_call_has_its_time_its_object_and_its_answer() -> None:
    request = a_request()
    (call,), problems = read(other(1), asked(1.25, request), other(1.5), answered(2, DONE))
    assert (call.request, call.response, problems) == (request, DONE, [])
    assert call.at.isoformat() == "2026-11-29T12:00:01.250000+00:00"
    assert (call.hook, call.url, call.line) == ("sync", URL, 2)
    assert call.title == "sync of ModelDeployment t/job"


def test_the_object_of_a_decorator_and_a_cluster_scoped_one_have_their_names() -> None:
    decorated = {"object": {"kind": "Node", "metadata": {"name": "a"}}, "attachments": {}}
    (call,), _ = read(asked(1, decorated))
    assert call.title == "sync of Node a"


def test_hooks_are_told_apart_by_their_address() -> None:
    customize = "http://hooks.test:8080/keeper/customize"
    (sync, other_call), _ = read(
        asked(1, a_request()),
        asked(2, {"parent": a_request()["parent"]}, url=customize, hook="customize"),
        answered(3, DONE),
        answered(4, {"relatedResources": []}, url=customize, hook="customize"),
    )
    assert (sync.response, other_call.response) == (DONE, {"relatedResources": []})


def test_an_unchanged_answer_is_the_one_that_the_name_got_before() -> None:
    (_, second), _ = read(asked(1, a_request()), answered(2, DONE), asked(3, a_request()), answered(4))
    assert second.response == DONE


def test_an_unchanged_answer_of_another_name_is_not_taken() -> None:
    (_, second), _ = read(asked(1, a_request("a")), answered(2, DONE), asked(3, a_request("b")), answered(4))
    assert second.response is None
    assert "304, and the answer it stands for is not in this log" in second.unanswered


@pytest.mark.parametrize(
    ("content", "words"),
    [({"bodyError": NOT_JSON}, "not JSON"), ({"body": {"error": "kaput"}}, "no answer"), ({"body": [1]}, "not JSON")],
)
def test_a_refusal_is_not_taken_for_an_answer(content: JSON, words: str) -> None:
    (call,), _ = read(asked(1, a_request()), line("Webhook response", 2, **content))
    assert call.response is None
    assert words in call.unanswered


def test_an_answer_that_deletes_everything_is_one() -> None:
    (call,), _ = read(asked(1, a_request()), answered(2, {}))
    assert call.response == {}


def test_a_call_without_any_response_says_so() -> None:
    (call,), _ = read(asked(1, a_request()))
    assert call.response is None
    assert "the log ends before it" in call.unanswered


def test_two_calls_at_once_get_no_answer_rather_than_each_others() -> None:
    calls, _ = read(
        asked(1, a_request("a")), asked(2, a_request("b")), answered(3, DONE), answered(4, {"children": []})
    )
    assert [call.response for call in calls] == [None, None]
    assert all("at once" in call.unanswered for call in calls)


def test_after_calls_at_once_answers_are_told_again() -> None:
    lines = (asked(1, a_request("a")), asked(2, a_request("b")), answered(3, DONE), answered(4, DONE))
    (*_, third), _ = read(*lines, asked(5, a_request("c")), answered(6, DONE))
    assert third.response == DONE


def test_the_next_call_of_an_object_shows_that_its_last_one_has_ended() -> None:
    """Of a and b one was answered at 3; that a is called again tells that it was a's, so 5 is b's or a's second."""
    first, second, third, fourth = read(
        asked(1, a_request("a")),
        asked(2, a_request("b")),
        answered(3, DONE),
        asked(4, a_request("a")),
        answered(5, DONE),
        answered(6, DONE),
        asked(7, a_request("b")),
        answered(8, {"children": []}),
    )[0]
    assert [call.response for call in (first, second, third)] == [None, None, None]
    assert fourth.response == {"children": []}


def test_a_call_that_was_given_up_does_not_spoil_the_others_for_ever() -> None:
    late = asked(1, a_request("c")).replace(b"12:00:", b"12:05:"), answered(2, DONE).replace(b"12:00:", b"12:05:")
    (_, call), _ = read(asked(1, a_request("a")), *late)
    assert call.response == DONE


def test_the_response_to_a_request_that_cannot_be_read_is_not_given_to_another_call() -> None:
    broken = asked(1, a_request("a"))[:9000] + b"\n"
    calls, problems = read(broken, asked(2, a_request("b")), answered(3, DONE), answered(4, DONE))
    assert [call.response for call in calls] == [None]
    assert problems == [
        "line 1 of 9001 bytes holds a hook call, and it is cut off: collectors of logs cut long lines, so take it "
        "from `kubectl logs`"
    ]


def test_a_response_that_cannot_be_read_ends_its_call_all_the_same() -> None:
    (first, second), problems = read(
        asked(1, a_request("a")), answered(2, DONE)[:-5], asked(3, a_request("b")), answered(4, DONE)
    )
    assert first.response is None
    assert first.unanswered == "line 2, which holds it, cannot be read"
    assert second.response == DONE
    assert len(problems) == 1


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (asked(1, {}).replace(b'"body"', b'"body" oops'), "it is not JSON at column"),
        (asked(1, {}).replace(b"2026-11", b"noon-11"), "it states no time that can be read"),
        (line("Webhook request", 1, body=[]), "it lacks its type, url or body"),
        (b"Webhook request without anything", "it is cut off"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(broken: bytes, words: str) -> None:
    calls, (problem,) = read(broken, asked(2, a_request()))
    assert len(calls) == 1
    assert problem.startswith(f"line 1 of {len(broken)} bytes holds a hook call, and {words}")


def test_a_line_that_only_mentions_a_call_is_none() -> None:
    assert read(line("Reading the Webhook request failed", 1)) == ([], [])


@pytest.mark.parametrize(
    "stamp", ["1795953601.25", "1795953601250.0", "1795953601250000000", '"2026-11-29T13:00:01.250+01:00"']
)
def test_every_way_in_which_a_time_is_written_is_read(stamp: str) -> None:
    (call,), _ = read(asked(1.25, a_request()).replace(b'"2026-11-29T12:00:01.250000000Z"', stamp.encode()))
    assert call.at.timestamp() == 1795953601.25


def test_the_console_encoder_and_prefixes_are_read() -> None:
    body = asked(1, a_request()).partition(b'"msg":"Webhook request",')[2]
    console = b"2026-11-29T12:00:01Z\tLEVEL(-6)\tWebhook request\t{" + body
    prefixed = b"[pod/metacontroller-0/metacontroller] " + answered(2, DONE)
    (call,), problems = read(console, prefixed)
    assert (call.response, problems) == (DONE, [])
    assert call.at.isoformat() == "2026-11-29T12:00:01+00:00"


def test_a_line_in_parts_of_a_container_runtime_is_put_together() -> None:
    whole = asked(1, a_request()).rstrip()
    head, parts = b"2026-11-29T12:00:01.1Z stdout ", [whole[:16384], whole[16384:]]
    assert parts[1]
    (call,), problems = read(head + b"P " + parts[0] + b"\n", head + b"F " + parts[1] + b"\n")
    assert (call.request, problems) == (a_request(), [])
