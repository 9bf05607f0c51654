"""From an access to an HTTP client: bearer token, password, impersonation, proxy; TLS is `tls`."""

import ipaddress
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from urllib.parse import quote

import httpx

from app import __version__
from app.cluster.errors import ConfigError
from app.cluster.execplugin import Credential, run_plugin
from app.cluster.kubeconfig import Access, User
from app.cluster.tls import trust

_TIMEOUT = httpx.Timeout(30, connect=10)


class BearerAuth(httpx.Auth):
    """A bearer token; where the cluster does not take it (any more), a new one is asked for, once per request."""

    def __init__(self, token: str, renew: Callable[[], str]) -> None:
        self._token = token
        self._renew = renew

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """httpx's protocol: yields the request, with its token, until it is answered."""
        request.headers["Authorization"] = f"Bearer {self._token}"
        response = yield request
        if response.status_code == httpx.codes.UNAUTHORIZED:
            token = self._renew()
            if token != self._token:
                self._token = token
                request.headers["Authorization"] = f"Bearer {token}"
                yield request


def http_client(access: Access, environment: Mapping[str, str]) -> httpx.Client:
    """A client of the cluster's API server. Raises `ConfigError` for what cannot be used."""
    server, user = access.cluster.server, access.user
    url = _url(access)
    if user.auth_provider is not None:
        raise ConfigError(
            f"user {access.user_name} has an auth-provider, which Kubernetes has dropped: use an exec plugin"
        )
    credential = Credential()
    if user.exec is not None:
        credential = run_plugin(access, user.exec, environment)
    # As kubectl does: no proxy on the way to this very machine.
    trusts_environment = not access.cluster.proxy_url and not _is_loopback(url.host)
    try:
        return httpx.Client(
            base_url=url,
            verify=trust(access, credential) if url.scheme == "https" else True,
            auth=_auth(access, credential, environment),
            headers=_headers(user),
            proxy=access.cluster.proxy_url or None,
            trust_env=trusts_environment,
            timeout=_TIMEOUT,
            event_hooks={"request": [_naming(access.cluster.tls_server_name)]},
        )
    except (ValueError, ImportError) as problem:  # a proxy of a scheme that is not known
        raise ConfigError(f"{server}: proxy-url or the proxy of the environment cannot be used: {problem}") from None


def _url(access: Access) -> httpx.URL:
    server = access.cluster.server
    try:
        url = httpx.URL(server.rstrip("/") + "/")
    except httpx.InvalidURL:
        raise ConfigError(f"{access.title}: the server {server!r} is no URL") from None
    if url.scheme not in ("https", "http") or not url.host:
        raise ConfigError(f"{access.title}: the server {server!r} is no URL such as https://10.0.0.1:6443")
    if url.scheme == "http" and not _is_loopback(url.host) and _has_secret(access.user):
        raise ConfigError(f"{access.title}: {server} is plain HTTP, and your credentials would go there unencrypted")
    return url


def _has_secret(user: User) -> bool:
    return bool(user.token or user.token_file or user.password or user.exec)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _naming(server_name: str) -> Callable[[httpx.Request], None]:
    """Sets the name that the server's certificate must bear, where it is another than the URL's."""

    def name(request: httpx.Request) -> None:
        if server_name:
            request.extensions = {**request.extensions, "sni_hostname": server_name}

    return name


def _auth(access: Access, credential: Credential, environment: Mapping[str, str]) -> httpx.Auth | None:
    user = access.user
    if user.token_file:
        return BearerAuth(_token(access), lambda: _token(access))
    if user.token:
        return BearerAuth(user.token, lambda: user.token)
    plugin = user.exec
    if plugin is not None and credential.token:
        return BearerAuth(credential.token, lambda: run_plugin(access, plugin, environment).token)
    if user.username:
        return httpx.BasicAuth(user.username, user.password)
    return None


def _token(access: Access) -> str:
    file = access.user.token_file
    try:
        return Path(file).read_text(encoding="utf-8").strip()
    except OSError as problem:
        raise ConfigError(f"the tokenFile of user {access.user_name}: {file}: {problem.strerror}") from None


def _headers(user: User) -> list[tuple[str, str]]:
    """What every request carries, with whom the caller acts as, where the kubeconfig says so."""
    found = [("User-Agent", f"hangar/{__version__}"), ("Accept", "application/json")]
    if user.impersonate:
        found.append(("Impersonate-User", user.impersonate))
    if user.impersonate_uid:
        found.append(("Impersonate-Uid", user.impersonate_uid))
    found += [("Impersonate-Group", group) for group in user.impersonate_groups]
    for key, values in user.impersonate_extra.items():
        found += [(f"Impersonate-Extra-{quote(key, safe='')}", value) for value in values]
    return found
