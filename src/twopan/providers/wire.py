"""The HTTP transport: one POST of JSON, with deadlines, a size limit and no redirects.

    post ──► nothing usable came back     raises a ProviderError of one clear line
         └─► Reply(status, headers, data, fault)

Nothing here is read from the environment, a proxy included. No message shows a key: whatever a
server wrote is masked by the keys' values before anybody sees it.
"""

import asyncio
import errno
import json
import os
import re
import socket
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote

import aiohttp
import msgspec
from yarl import URL

from twopan.errors import ConfigError, Denied, Malformed, ProviderError, Unreachable
from twopan.providers.faults import Fault, complaint, retry_after
from twopan.secret import RUN, Secret

LARGEST_REPLY = 16 << 20
"""Bytes of one reply, as sent and as inflated."""
LONGEST_MESSAGE = 300
"""Characters of a server's own words in an error."""
MOST_READ = 4000
"""Characters of a server's own words that are looked at to find out what it means."""
QUERY = {"api-version"}
"""What a base URL's query may hold."""
KEY_SHAPE = re.compile(r"\b(?:sk|pk|gsk|xai|hf)[-_][A-Za-z0-9_-]{16,}|\bAIza[A-Za-z0-9_-]{30,}")

METADATA_HOSTS = {"metadata", "metadata.google.internal", "metadata.goog", "instance-data"}
METADATA_NETWORKS = [
    ip_network(network)
    for network in (
        "169.254.0.0/16",  # AWS, Azure, Google and most others
        "fd00:ec2::/32",  # AWS
        "fd20:ce::254/128",  # Google
        "fe80::a9fe:a9fe/128",  # OpenStack
        "100.100.100.200/32",  # Alibaba
        "168.63.129.16/32",  # Azure
        "192.0.0.192/32",  # Oracle
    )
]
CLOSED = (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError)
A_METADATA_ADDRESS = "a cloud metadata address, which is never asked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Seconds, for one attempt."""

    connect: float = 10.0
    read: float = 120.0
    """Longest silence. A model says nothing while it thinks."""
    total: float = 300.0
    """For everything, however busily the server drips."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    data: Any
    """The decoded body; None where it is not JSON, which only happens beside a fault."""
    fault: Fault | None


class Wire:
    """Connections to one server. They belong to the event loop in which they were first used.

    Parameters
    ----------
    base_url : str
        http or https, without user name, key or fragment. Private addresses are allowed, since
        the user names them; cloud metadata addresses are not, whatever name they hide behind.
        ConfigError, which does not quote the URL, where that does not hold.
    headers : mapping of str to Secret or str
    proxy : str, optional
        http or https URL, perhaps with user name and password. A proxy resolves names itself,
        so behind one only the name of a metadata server can be refused.
    """

    def __init__(
        self,
        base_url: str,
        *,
        headers: Mapping[str, str] | None = None,
        secrets: tuple[Secret, ...] = (),
        timeouts: Timeouts | None = None,
        proxy: str | None = None,
    ) -> None:
        self._base = checked_url(base_url, secrets)
        self._proxy, password = _checked_proxy(proxy)
        self._headers = {**(headers or {}), "User-Agent": "twopan", "Accept-Encoding": "gzip"}
        self._secrets = (*secrets, *password)
        self._timeouts = timeouts or Timeouts()
        self._session: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def endpoint(self) -> str:
        """The base URL in one spelling: it identifies the server in every key."""
        return str(self._base)

    @property
    def host(self) -> str:
        return self._base.raw_authority

    async def post(self, path: str, body: Any) -> Reply:
        """POST ``body`` as JSON below the base URL and decode what comes back.

        Raises Unreachable, Malformed or Denied (a redirect, a certificate, a metadata address).
        """
        url = (self._base / path).with_query(self._base.query)
        payload = msgspec.json.encode(body)
        connection = SimpleNamespace(reused=False)
        try:
            return await self._send(url, payload, connection)
        except (aiohttp.ClientError, TimeoutError) as error:
            failure = self._failure(error)
            if connection.reused and isinstance(error, CLOSED):
                # It may have been closed while it lay idle in our pool, so there is nothing to
                # wait for. Whether the server had the request by then, nobody can tell.
                failure.retry_after = 0.0
        # Raised out here it does not carry aiohttp's error, which holds the request's headers.
        raise failure

    async def aclose(self) -> None:
        if self._session:
            await self._session.close()
        self._session = None

    def fault(self, status: int, headers: Mapping[str, str], data: Any, text: str = "") -> Fault:
        """What the server means by this answer."""
        message, named, own_status = complaint(data, text[:MOST_READ])
        message = message[:MOST_READ]
        return Fault(
            host=self.host,
            status=own_status if own_status and status < 400 else status,
            says=self.shown(message),
            words=f"{message} {named[:MOST_READ]}".lower(),
            retry_after=retry_after(headers, message),
        )

    def shown(self, text: str) -> str:
        """A server's words on one line: masked, shortened, without control characters."""
        text = text[:MOST_READ]
        for secret in self._secrets:
            text = secret.mask(text)
        text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
        return text if len(text) <= LONGEST_MESSAGE else text[: LONGEST_MESSAGE - 1] + "…"

    async def _send(self, url: URL, payload: bytes, connection: SimpleNamespace) -> Reply:
        session = await self._opened()
        async with session.post(
            url, data=payload, allow_redirects=False, trace_request_ctx=connection
        ) as response:
            connection.reused = False  # it has answered: what breaks now is something else
            if 300 <= response.status < 400:
                raise Denied(self._redirect(response))
            body = await self._read(response)
        status = response.status
        headers = {name.lower(): value for name, value in response.headers.items()}
        text = body.decode("utf-8-sig", "replace")
        try:
            data = decode(text)
        except (ValueError, RecursionError):
            if status < 400:
                kind = headers.get("content-type", "no content type")
                raise Malformed(
                    f"{self.host} answered {status} with something that is not JSON"
                    f" ({self.shown(kind)}): {self.shown(text)}",
                    outcome_unknown=True,
                ) from None
            data = None
        fault = None
        if status >= 400 or _is_error(data):
            fault = self.fault(status, headers, data, text)
        return Reply(status=status, headers=headers, data=data, fault=fault)

    async def _opened(self) -> aiohttp.ClientSession:
        if self._session and self._loop is not asyncio.get_running_loop():
            await self.aclose()  # its loop is over, and its connections with it
        if not self._session:
            trace = aiohttp.TraceConfig()
            trace.on_connection_reuseconn.append(_note_reuse)
            self._loop = asyncio.get_running_loop()
            self._session = aiohttp.ClientSession(
                # As many connections as requests: how many those may be, the client decides.
                connector=aiohttp.TCPConnector(limit=0, socket_factory=_socket_for),
                headers={**self._headers, "Content-Type": "application/json"},
                timeout=aiohttp.ClientTimeout(
                    total=self._timeouts.total,
                    connect=self._timeouts.connect,
                    sock_read=self._timeouts.read,
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,  # we count while we inflate
                trust_env=False,
                proxy=self._proxy,
                trace_configs=[trace],
            )
        return self._session

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        malformed = partial(Malformed, outcome_unknown=response.status < 400)
        coding = response.headers.get("Content-Encoding", "identity").strip().lower()
        if coding not in ("identity", "", "gzip", "x-gzip", "deflate"):
            raise malformed(f"{self.host} answered in a coding not asked for: {self.shown(coding)}")
        inflate = zlib.decompressobj(47) if coding not in ("identity", "") else None  # gzip or zlib
        body, sent = bytearray(), 0
        async for chunk in response.content.iter_any():
            sent += len(chunk)
            room = LARGEST_REPLY + 1 - len(body)
            try:
                body += inflate.decompress(chunk, room) if inflate else chunk
            except zlib.error:
                raise malformed(f"{self.host} answered with a broken {coding} stream") from None
            if max(sent, len(body)) > LARGEST_REPLY:
                raise malformed(f"{self.host} answered with over {LARGEST_REPLY >> 20} MB")
        if inflate and not inflate.eof:
            raise malformed(f"{self.host} answered with a {coding} stream that breaks off")
        return bytes(body)

    def _redirect(self, response: aiohttp.ClientResponse) -> str:
        try:
            target = self._base.join(URL(response.headers.get("Location", ""))).raw_authority
        except ValueError:
            target = "somewhere unreadable"
        return (
            f"{self.host} answered {response.status}, a redirect to {self.shown(target)}, which"
            " was not followed; if that is the server you mean, name it in the base URL"
        )

    def _failure(  # noqa: PLR0911 -- a list of cases
        self, error: aiohttp.ClientError | TimeoutError
    ) -> ProviderError:
        host, limit = self.host, self._timeouts
        match error:
            case aiohttp.ConnectionTimeoutError():
                return Unreachable(f"{host}: no connection within {limit.connect:g} s")
            case aiohttp.SocketTimeoutError():
                line = f"{host}: nothing was heard for {limit.read:g} s"
                return Unreachable(line, outcome_unknown=True)
            case TimeoutError():
                line = f"{host}: no complete answer within {limit.total:g} s"
                return Unreachable(line, outcome_unknown=True)
            case aiohttp.ClientConnectorCertificateError():
                why = self.shown(str(error.certificate_error))
                return Denied(f"{host}: its certificate is not trusted: {why}")
            case aiohttp.ClientConnectorError():
                kind = Denied if A_METADATA_ADDRESS in str(error.os_error) else Unreachable
                return kind(f"{host}: cannot connect: {self.shown(_why(error.os_error))}")
            case aiohttp.InvalidURL():
                return Denied(f"{host}: not an address that can be connected to")
            case aiohttp.ClientHttpProxyError():
                kind = Denied if error.status in (401, 403, 407) else Unreachable
                return kind(f"{host}: the proxy answered {error.status}")
            case aiohttp.ClientPayloadError():
                return Malformed(f"{host}: the answer breaks off", outcome_unknown=True)
            case aiohttp.ClientResponseError():
                return Malformed(f"{host}: the answer is not HTTP", outcome_unknown=True)
        line = f"{host}: the connection was closed before an answer came"
        return Unreachable(line, outcome_unknown=True)


def decode(text: str) -> Any:
    """JSON, with U+FFFD for every half of a surrogate pair, which no file could hold.

    Raises ValueError, or RecursionError for a text of nothing but brackets.
    """
    data = json.loads(text)
    if "\\ud" in text.lower():
        whole = json.dumps(data, ensure_ascii=False).encode("utf-16", "surrogatepass")
        data = json.loads(whole.decode("utf-16", "replace"))
    return data


def checked_url(base_url: str, secrets: tuple[Secret, ...] = ()) -> URL:
    """The base URL in one spelling, or a ConfigError that does not quote it."""
    url = _http_url(base_url, "the base URL")
    if url.user or url.password:
        raise ConfigError("the base URL holds a user name or password; give an API key instead")
    if url.fragment or set(url.query) - QUERY:
        raise ConfigError(
            f"the query of the base URL may only hold {', '.join(QUERY)}: a URL is shown and"
            " stored, so a key must not be in it; give it as the API key"
        )
    plain = unquote(str(url))
    values = [secret.reveal() for secret in secrets]
    if KEY_SHAPE.search(plain) or any(len(v) >= RUN and v in plain for v in values):
        raise ConfigError("the base URL holds a key; a URL is shown and stored: take it out")
    return url.with_path(url.raw_path.rstrip("/"), encoded=True).with_query(url.query)


def _checked_proxy(proxy: str | None) -> tuple[URL | None, tuple[Secret, ...]]:
    if proxy is None:
        return None, ()
    url = _http_url(proxy, "the proxy")
    return url, (Secret(url.password),) if url.password else ()


def _http_url(text: str, what: str) -> URL:
    try:
        url = URL(text.strip())
    except ValueError:
        raise ConfigError(f"{what} is not a URL") from None
    if url.scheme not in ("http", "https") or not url.host:
        raise ConfigError(f"{what} must begin with http:// or https:// and name a host")
    if is_metadata(url.host):
        raise ConfigError(f"{what} is {A_METADATA_ADDRESS}: {url.host}")
    return url


def is_metadata(host: str) -> bool:
    """Whether a name or address is where a cloud tells its machines their credentials."""
    host = host.rstrip(".").lower()
    try:
        address: IPv4Address | IPv6Address = ip_address(host)
    except ValueError:
        return host in METADATA_HOSTS
    inner = None
    if isinstance(address, IPv6Address):
        nat64 = IPv4Address(int(address) & 0xFFFFFFFF) if int(address) >> 32 == NAT64 else None
        inner = address.ipv4_mapped or address.sixtofour or nat64
    return any((inner or address) in network for network in METADATA_NETWORKS)


NAT64 = int(IPv6Address("64:ff9b::")) >> 32


def _socket_for(info: tuple[Any, ...]) -> socket.socket:
    """Called with the address about to be connected to: the last moment at which to refuse."""
    family, kind, proto, _, address = info
    if is_metadata(str(address[0])):
        raise PermissionError(errno.EACCES, A_METADATA_ADDRESS)
    return socket.socket(family=family, type=kind, proto=proto)


def _why(error: OSError) -> str:
    """In the words of the system, which for a refused connection say less and mean more."""
    told = (error.errno or 0) > 0 and A_METADATA_ADDRESS not in str(error)
    return os.strerror(error.errno or 0) if told else error.strerror or str(error)


async def _note_reuse(_session: Any, context: SimpleNamespace, _params: Any) -> None:
    context.trace_request_ctx.reused = True


def _is_error(data: Any) -> bool:
    if not isinstance(data, dict):
        return False
    return bool(data.get("error")) or "error" in (data.get("object"), data.get("type"))
