"""One call of a hook: who may, how much, read, answer, record. The order is the point of this file."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from time import perf_counter

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from app.kube.hook import JSON, HookController, Unreadable
from app.server.auth import Tokens
from app.server.limits import Load, declared_length, read_body
from app.server.logs import CallRecord
from app.server.outcomes import Reason, Refused, concluded, failure, record_of, refusal
from app.settings import ControllerSettings
from app.wire.answers import LARGEST_STATUS, encode_customize, encode_sync, oversized_status, unchanged
from app.wire.collector import collector_paused
from app.wire.requests import Hook, NotJSON, SyncHook, parse_customize, parse_sync

log = logging.getLogger(__name__)

Clock = Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class Service:
    """What all hooks of one application share. Without `tokens` any caller is answered.

    Once it is `leaving`, each answer closes its connection, so that callers turn to another Pod by themselves.
    """

    settings: ControllerSettings
    clock: Clock
    tokens: Tokens | None
    load: Load
    max_body_bytes: int
    read_seconds: float
    leaving: Callable[[], bool]


class HookRoute:
    """Answers one hook of one controller."""

    def __init__(self, controller: HookController, hook: Hook, service: Service) -> None:
        self._controller = controller
        self._hook: Hook = hook
        self._service = service

    async def call(self, request: Request) -> Response:
        """The endpoint. Every outcome, a refusal and a fault of ours too, is one response and one line of the log."""
        started = perf_counter()
        record = record_of(request)
        record.controller, record.hook = self._controller.name, self._hook
        try:
            response = await self._respond(request, record)
        except Refused as refused:
            response = refusal(refused, record)
        except Exception:
            response = failure(record)
        if self._service.leaving():
            response.headers["Connection"] = "close"
        return concluded(response, record, started)

    async def _respond(self, request: Request, record: CallRecord) -> Response:
        service = self._service
        if service.tokens and not service.tokens.allow(request.headers.get("authorization", "")):
            raise _unauthorized()
        # Customize is small, and Metacontroller waits for it inside its informers: it is never sent away.
        with service.load.taken(declared_length(request), always=self._hook == "customize") as upload:
            try:
                body = await read_body(request, upload, service.load, service.max_body_bytes, service.read_seconds)
            except ClientDisconnect:
                raise Refused(400, Reason.DISCONNECTED, "The caller left before its request was read.") from None
            record.bytes_in = len(body)
            with service.load.answering():
                return self._answer(body, request.headers.get("if-none-match", ""), record)

    def _answer(self, body: bytes, if_none_match: str, record: CallRecord) -> Response:
        try:
            # The request's objects die with the inner call, while the collector is still paused.
            with collector_paused():
                if self._hook == "customize":
                    return self._customize(body, record)
                return self._sync(body, if_none_match, record)
        except NotJSON as problem:
            raise Refused(400, Reason.NOT_JSON, f"{problem}.") from None
        except Unreadable as problem:
            raise Refused(422, Reason.UNREADABLE, f"{problem}.") from None

    def _customize(self, body: bytes, record: CallRecord) -> Response:
        parent = parse_customize(body, self._controller)
        _note_parent(record, parent)
        return _ok(encode_customize(self._controller.customize(parent, self._service.settings), self._controller))

    def _sync(self, body: bytes, if_none_match: str, record: CallRecord) -> Response:
        controller, service = self._controller, self._service
        hook: SyncHook = "finalize" if self._hook == "finalize" else "sync"
        request = parse_sync(body, controller, hook)
        _note_parent(record, request.parent)
        record.children_observed = sum(map(len, request.children.values()))
        function = controller.finalize if request.finalizing else controller.sync
        answer = function(request, service.clock(), service.settings)
        encoded, tag = encode_sync(answer, request, controller, hook)
        record.children_answered = len(answer.children)
        if size := oversized_status(answer, encoded):
            said = {"requestId": record.request_id, "namespace": record.namespace, "name": record.name}
            log.warning("a status of %d bytes exceeds %d", size, LARGEST_STATUS, extra={"fields": said})
        if if_none_match and unchanged(if_none_match, tag):
            return Response(status_code=304, headers={"ETag": tag})
        return _ok(encoded, {"ETag": tag})


def _ok(body: bytes, headers: dict[str, str] | None = None) -> Response:
    return Response(body, headers=headers, media_type="application/json")


def _note_parent(record: CallRecord, parent: JSON) -> None:
    metadata = parent["metadata"]
    record.namespace, record.name = metadata["namespace"], metadata["name"]
    generation = metadata.get("generation")
    record.generation = generation if isinstance(generation, int) else None


def _unauthorized() -> Refused:
    return Refused(
        401,
        Reason.UNAUTHORIZED,
        "The bearer token is missing or not one of Hangar's: "
        "give the CompositeController's webhook the token of HANGAR_TOKEN_FILE.",
        {"WWW-Authenticate": "Bearer"},
    )
