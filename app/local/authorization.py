"""The Authorization header of a hook: from the webhook itself, or from the endpointConfig of its host."""

import base64
from typing import Any
from urllib.parse import urlsplit

from app.kube.hook import JSON
from app.local.errors import ApiError
from app.local.store import Store
from app.local.values import listed, mapping

_TLS = ("caBundle", "clientTLS")
_SETTINGS = (*_TLS, "authorization", "basicAuth")
_DEFAULT_PORTS = {"http": 80, "https": 443}


class ControllerInvalid(ValueError):
    """A controller object that Metacontroller does not start; the sentence says why."""


def url_of(webhook: JSON) -> str:
    """The address of a hook: its `url`, or its `service` and `path`. Raises ControllerInvalid."""
    if webhook.get("url"):
        return str(webhook["url"])
    service, path = mapping(webhook.get("service")), webhook.get("path")
    if not service or not path:
        raise ControllerInvalid(
            "invalid webhook config: must specify either a full 'url', or both 'service' and 'path'"
        )
    if not service.get("name") or not service.get("namespace"):
        raise ControllerInvalid("invalid webhook config: 'service' must specify both 'name' and 'namespace'")
    host = f"{service['name']}.{service['namespace']}:{service.get('port', 80)}"
    return f"{service.get('protocol', 'http')}://{host}{path}"


def authorization(store: Store, controller: JSON, hook: str) -> str:
    """The Authorization header of one hook of a controller object, empty where none is configured.

    Raises ControllerInvalid when the Secret or its key is missing, or for TLS material, which is not imitated.
    """
    webhook = mapping(mapping(mapping(mapping(controller.get("spec")).get("hooks")).get(hook)).get("webhook"))
    settings = webhook if any(field in webhook for field in _SETTINGS) else _endpoint(controller, webhook)
    prefix = f"can't resolve endpoint config for {hook} hook: "
    for field in _TLS:
        if settings.get(field):
            raise ControllerInvalid(f"{prefix}{field} is not imitated here: call the hook over plain HTTP")
    bearer, basic = mapping(settings.get("authorization")), mapping(settings.get("basicAuth"))
    if bearer and basic:
        raise ControllerInvalid(f"{prefix}authorization and basicAuth are mutually exclusive")
    if bearer:
        if str(bearer.get("type", "")).strip().lower() == "basic":
            words = f'authorization type "{bearer["type"]}" is not supported; use the basicAuth field instead'
            raise ControllerInvalid(f"{prefix}can't resolve authorization: {words}")
        reference = mapping(bearer.get("secretRef"))
        value = _secret_value(store, reference, str(reference.get("key", "")), f"{prefix}can't resolve authorization")
        return f"{str(bearer.get('type') or '').strip() or 'Bearer'} {value}"
    return _basic(store, basic, f"{prefix}can't resolve basicAuth") if basic else ""


def _basic(store: Store, basic: JSON, prefix: str) -> str:
    reference = mapping(basic.get("secretRef"))
    user, password = (
        _secret_value(store, reference, str(basic.get(f"{part}Key") or part), prefix, "basicAuth")
        for part in ("username", "password")
    )
    if ":" in user:
        raise ControllerInvalid(f"{prefix}: basicAuth username must not contain ':'")
    return f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"


def _endpoint(controller: JSON, webhook: JSON) -> JSON:
    """The first endpointConfig that names the host of a hook."""
    parts = urlsplit(url_of(webhook))
    port = _DEFAULT_PORTS.get(parts.scheme)
    hosts = {parts.netloc.lower(), f"{parts.hostname}:{parts.port or port}"}
    hosts |= {str(parts.hostname)} if parts.port in {None, port} else set()
    configs: list[Any] = listed(mapping(controller.get("spec")).get("endpointConfigs"))
    return next((mapping(one) for one in configs if str(mapping(one).get("host", "")).lower() in hosts), {})


def _secret_value(store: Store, reference: JSON, key: str, prefix: str, what: str = "authorization") -> str:
    space, title = str(reference.get("namespace", "")), str(reference.get("name", ""))
    try:
        data = mapping(store.get(store.discovery.kind("v1", "Secret"), space, title).get("data"))
    except ApiError as error:
        raise ControllerInvalid(f"{prefix}: can't get {what} secret {space}/{title}: {error}") from error
    if key not in data:
        raise ControllerInvalid(f'{prefix}: {what} secret {space}/{title} does not contain key "{key}"')
    return base64.b64decode(data[key]).decode().strip()
