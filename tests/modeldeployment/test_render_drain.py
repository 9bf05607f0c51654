"""The drain hook, run for real: a leaving engine finishes its requests, and a broken one delays nothing."""

import http.server
import os
import re
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from app.kube.hook import JSON
from tests.modeldeployment.rendering import main, render

Answer = Callable[[http.server.BaseHTTPRequestHandler], None]
SETTLE_SECONDS = 5
SELF_SIGNED = Path(__file__).parent / "self_signed_for_tests.pem"  # made for this test, used nowhere else


def metrics(*lines: str) -> Answer:
    """Answers with those lines as Prometheus metrics."""

    def answer(request: http.server.BaseHTTPRequestHandler) -> None:
        body = "\n".join(("# HELP vllm:num_requests_running x", *lines, "")).encode()
        request.send_response(200)
        request.end_headers()
        request.wfile.write(body)

    return answer


def running(count: str, waiting: str = "0.0") -> Answer:
    """vLLM's gauges, as it writes them."""
    labels = '{engine="0",model_name="a {b} c"}'
    return metrics(
        f"vllm:num_requests_running{labels} {count}",
        f"vllm:num_requests_waiting{labels} {waiting}",
        'vllm:num_requests_waiting_by_reason{reason="x"} 7.0',
        "vllm:num_preemptions_total 9.0",
    )


IDLE, BUSY = running("0.0"), running("2.0")


def failing(request: http.server.BaseHTTPRequestHandler) -> None:
    """An engine that is up and broken."""
    request.send_error(500)


def silent(_: http.server.BaseHTTPRequestHandler) -> None:
    """An engine too busy to answer within a second."""
    time.sleep(1.5)


@contextmanager
def engine(*answers: Answer, certificate: Path | None = None) -> Iterator[tuple[int, list[str]]]:
    """A server that gives each answer once and the last for ever; yields its port and the paths it was asked for."""
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            answers[min(len(asked), len(answers)) - 1](self)

        def log_message(self, *_: Any) -> None:
            """Keeps the test's output clean."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server.server_address[1], asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def hook(container: JSON) -> list[str]:
    """The drain hook's command."""
    found: list[str] = container["lifecycle"]["preStop"]["exec"]["command"]
    return found


def drain(port: int, scheme: str = "http", host: str = "127.0.0.1", seconds: str = "25", **environment: str) -> float:
    """Runs the hook as rendered against `port`, its own waits shortened; returns the seconds that it would have waited.

    How long it waits for an answer is not shortened.
    """
    python, option, script, _, _, *gauges = hook(main(render()))
    assert (python, option) == ("python3", "-c")
    quick = "import time;_s=time.sleep;time.sleep=lambda n:(print(n,flush=True),_s(n/50))\n" + script
    started = time.monotonic()
    done = subprocess.run(  # noqa: S603 - the script under test, with this interpreter
        [sys.executable, "-c", quick, f"{scheme}://{host}:{port}/metrics", seconds, *gauges],
        env={"PATH": os.environ["PATH"], **environment},
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    assert time.monotonic() - started < 15
    return sum(map(float, done.stdout.split()))


def test_an_idle_engine_leaves_after_a_second_look() -> None:
    with engine(IDLE) as (port, asked):
        assert drain(port) == SETTLE_SECONDS + 1
    assert asked == ["/metrics", "/metrics"]


def test_a_busy_engine_is_left_to_finish_and_one_quiet_moment_does_not_fool_the_hook() -> None:
    with engine(BUSY, IDLE, running("0.0", "1.0"), IDLE, IDLE, BUSY) as (port, asked):
        assert drain(port) == SETTLE_SECONDS + 4
    assert len(asked) == 5


def test_an_engine_that_is_gone_delays_nothing() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        assert drain(unused.getsockname()[1]) == SETTLE_SECONDS


def test_an_engine_that_answers_with_an_error_delays_nothing() -> None:
    with engine(BUSY, failing) as (port, asked):
        assert drain(port) == SETTLE_SECONDS + 1
    assert len(asked) == 2


@pytest.mark.parametrize(
    "odd", [silent, running("many"), metrics("vllm:num_requests_running"), running("NaN")], ids=range(4)
)
def test_an_engine_that_answers_late_or_oddly_counts_as_busy(odd: Answer) -> None:
    with engine(IDLE, odd, IDLE, IDLE) as (port, asked):
        assert drain(port) == SETTLE_SECONDS + 3
    assert len(asked) == 4


def test_the_hook_ends_before_the_grace_period_whatever_the_engine_does() -> None:
    with engine(BUSY) as (port, asked):
        started = time.monotonic()
        drain(port, seconds="1")
        assert time.monotonic() - started < 3
    assert asked


def test_a_proxy_of_the_users_own_is_not_asked_for_the_engines_metrics() -> None:
    with engine(IDLE) as (port, asked), engine(BUSY) as (proxy, proxied):
        drain(port, http_proxy=f"http://127.0.0.1:{proxy}")
    assert len(asked) == 2
    assert not proxied


def test_a_member_waits_for_the_leader_that_still_needs_it() -> None:
    with engine(BUSY, IDLE) as (port, asked):
        waited = drain(port, host="$HANGAR_LEADER_ADDRESS", HANGAR_LEADER_ADDRESS="127.0.0.1")
    assert waited == SETTLE_SECONDS + 2
    assert len(asked) == 3


def test_a_certificate_that_nobody_signed_is_no_reason_to_leave_early() -> None:
    with engine(BUSY, IDLE, certificate=SELF_SIGNED) as (port, asked):
        assert drain(port, scheme="https") == SETTLE_SECONDS + 2
    assert len(asked) == 3


def test_the_hook_asks_the_engine_that_it_leaves_with() -> None:
    role = render(size=2, terminationGracePeriodSeconds=120, extraArgs=["--ssl-keyfile=/k", "--port=9000"])
    assert hook(main(role, 0))[3:5] == ["https://127.0.0.1:9000/metrics", "115"]
    assert hook(main(role, 1))[3:5] == ["https://$HANGAR_LEADER_ADDRESS:9000/metrics", "115"]
    assert hook(main(render(engine="SGLang")))[3:5] == ["http://127.0.0.1:8000/metrics", "25"]


@pytest.mark.parametrize(
    ("engine_name", "counted", "passed_over"),
    [
        (
            "vLLM",
            ["vllm:num_requests_running", "vllm:num_requests_waiting"],
            ["vllm:num_requests_waiting_by_reason", "vllm:num_preemptions_total", "my_vllm:num_requests_running"],
        ),
        (
            "SGLang",
            [
                "sglang:num_running_reqs",
                "sglang:num_queue_reqs",
                "sglang:num_prefill_bootstrap_queue_reqs",
                "sglang:num_prefill_inflight_queue_reqs",
                "sglang:num_decode_prealloc_queue_reqs",
                "sglang:num_decode_transfer_queue_reqs",
            ],
            ["sglang:num_running_reqs_offline_batch", "sglang:num_grammar_queue_reqs", "sglang:num_retracted_reqs"],
        ),
    ],
)
def test_every_request_in_flight_is_waited_for_and_nothing_else(
    engine_name: str, counted: list[str], passed_over: list[str]
) -> None:
    lines = [f"# HELP {counted[0]} 7", *(f'{name}{{model="a}} b"}} 7.0' for name in passed_over)]
    lines += [f'{name}{{engine="0",model="a}} b"}} {index}.0' for index, name in enumerate(counted)]
    lines += [f"{counted[0]} 9.0"]
    found = re.findall(hook(main(render(engine=engine_name)))[5], "\n".join(lines))
    assert [float(value) for value in found] == [*range(len(counted)), 9]


def test_a_role_that_took_over_is_not_drained_by_a_script_that_knows_nothing_of_it() -> None:
    role = render(command=["serve"], size=2)
    assert "lifecycle" not in main(role, 0)
    assert "lifecycle" not in main(role, 1)
