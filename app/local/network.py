"""The network between Metacontroller and the hooks: names of Services, and what goes wrong on the way.

A hook is called by the name of its Service, as in a cluster; `hosts` says where that name leads on this machine. So no
port of this machine shows up in an event, and two runs say the same. Faults replace or delay answers for a while.
"""

from collections.abc import Callable
from dataclasses import dataclass

import httpx

from app.local.clock import Clock

# How many seconds of simulated time the answer takes; whoever made the call waits for them.
DELAY = "simulated_delay"


@dataclass(slots=True)
class CallFault:
    """What happens to calls of a hook. `hook` is the last part of its path, empty for every hook.

    `status` and `body` replace the answer, `delay` (seconds) postpones it, `cut` loses it: the hook gets the call, the
    caller never hears of it, and `cut` is run then. The next `times` calls are concerned, or all of them until `until`
    (simulated seconds since the start); None sets no bound.
    """

    hook: str = ""
    status: int | None = None
    body: bytes = b""
    delay: float = 0
    cut: Callable[[], None] | None = None
    times: int | None = None
    until: float | None = None


class Network(httpx.BaseTransport):
    """A transport that knows Service names and the faults of the moment."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._wire = httpx.HTTPTransport(trust_env=False)
        self._faults: list[CallFault] = []
        self.hosts: dict[str, str] = {}

    def fail(self, fault: CallFault) -> None:
        """From now on `fault` happens; of several that fit a call, the one that was added first."""
        self._faults.append(fault)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """One call, with the fault that is due."""
        fault = self._due(request.url.path.rpartition("/")[2])
        if fault is None:
            return self._send(request)
        if fault.cut is not None:
            self._send(request).close()
            fault.cut()
            raise httpx.RemoteProtocolError("EOF", request=request)
        response = self._send(request) if fault.status is None else httpx.Response(fault.status, content=fault.body)
        response.extensions[DELAY] = fault.delay
        return response

    def _due(self, hook: str) -> CallFault | None:
        now = self._clock.elapsed
        self._faults = [one for one in self._faults if one.times != 0 and (one.until is None or now < one.until)]
        fault = next((one for one in self._faults if one.hook in {"", hook}), None)
        if fault is not None and fault.times is not None:
            fault.times -= 1
        return fault

    def _send(self, request: httpx.Request) -> httpx.Response:
        host = request.url.netloc.decode()
        if host in self.hosts:
            address = httpx.URL(self.hosts[host])
            request.url = request.url.copy_with(scheme=address.scheme, host=address.host, port=address.port)
        try:
            return self._wire.handle_request(request)
        except httpx.ConnectError as error:
            if "refused" not in str(error):
                raise
            raise httpx.ConnectError(f"dial tcp {host}: connect: connection refused", request=request) from error

    def close(self) -> None:
        """Closes the connections."""
        self._wire.close()
