import gzip
import socket
import zlib

import pytest
from servers.chat import serve

from twopan.concurrency import run
from twopan.errors import ConfigError, Denied, Malformed, ProviderError, Unreachable
from twopan.providers import wire
from twopan.providers.faults import LONGEST_WAIT_S, duration, retry_after
from twopan.providers.wire import Timeouts, Wire, checked_url, decode, is_metadata
from twopan.secret import Secret

KEY = Secret("sk-CANARY0000000000000000")
BRIEF = Timeouts(connect=1.0, read=0.2, total=0.5)


def post(server, times=1, **options):
    """What so many posts over one wire come to: the reply, or the error."""

    async def all_of_them():
        one = Wire(server.url, timeouts=BRIEF, **options)
        try:
            return [await settled(one) for _ in range(times)]
        finally:
            await one.aclose()

    outcomes = run(all_of_them())
    return outcomes if times > 1 else outcomes[0]


async def settled(one):
    try:
        return await one.post("chat/completions", {"messages": []})
    except ProviderError as error:
        return error


# ---- what arrives ------------------------------------------------------------------------------


def test_a_reply_is_decoded_and_requests_share_a_connection():
    with serve() as server:
        replies = post(server, times=3)
        assert [reply.status for reply in replies] == [200, 200, 200]
        assert replies[0].data["choices"]
        assert {seen.path for seen in server.requests} == {"/v1/chat/completions"}
        assert server.connections == 1


@pytest.mark.parametrize(
    ("coding", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress), ("", bytes)]
)
def test_a_compressed_reply_is_inflated(coding, pack):
    with serve({"headers": {"Content-Encoding": coding}, "body": pack(b'{"ok": 1}')}) as server:
        assert post(server).data == {"ok": 1}


def test_half_a_surrogate_pair_becomes_the_replacement_character():
    assert decode(r'{"a\ud83d": ["\uDE00", "\ud83d\ude00", 1]}') == {"a�": ["�", "😀", 1]}


def test_one_wire_serves_two_event_loops_in_turn():
    with serve() as server:
        one = Wire(server.url)
        assert run(settled(one)).status == 200
        assert run(settled(one)).status == 200


def test_no_cookie_is_ever_sent_back():
    with serve({"headers": {"Set-Cookie": "who=me"}, "json": {}}) as server:
        server.url = server.url.replace("127.0.0.1", "localhost")  # numbers never get cookies
        post(server, times=2)
        assert "Cookie" not in server.requests[1].headers


def test_a_proxy_is_used_only_where_it_is_named(monkeypatch):
    with serve() as judge, serve() as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("http_proxy", proxy.url)
        assert post(judge).status == 200
        assert not proxy.requests
        assert post(judge, proxy=proxy.url).status == 200
        assert len(judge.requests) == len(proxy.requests) == 1


# ---- what does not -----------------------------------------------------------------------------


def test_nobody_listening_is_unreachable_and_certainly_unpaid():
    with serve() as server:
        pass
    error = post(server)
    assert isinstance(error, Unreachable)
    assert "Connection refused" in str(error)
    assert not error.outcome_unknown


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        ({"hang_s": 60}, "nothing was heard for 0.2 s"),
        ({"drip": {"bytes": " ", "every_s": 0.05, "for_s": 60}}, "no complete answer within 0.5 s"),
        ({"close": "before_response"}, "closed before an answer"),
    ],
)
def test_an_answer_that_never_comes_is_unreachable_and_perhaps_paid(reply, says):
    with serve(reply) as server:
        error = post(server)
    assert isinstance(error, Unreachable)
    assert says in str(error)
    assert error.outcome_unknown


def test_a_pooled_connection_that_closes_is_for_the_caller_to_replace_at_once():
    """The server may have had the request, and answered it: a second one is not ours to send."""
    closing = {"hang_s": 0.05, "close": "before_response"}
    with serve({"json": {"first": True}}, closing) as server:
        reply, error = post(server, times=2)
        first, second = server.requests
    assert reply.data == {"first": True}
    assert first.connection == second.connection
    assert isinstance(error, Unreachable)
    assert error.outcome_unknown
    assert error.retry_after == 0.0


def test_a_new_connection_that_closes_is_a_server_in_trouble_and_given_time():
    with serve({"close": "before_response"}) as server:
        assert post(server).retry_after is None


@pytest.mark.parametrize(
    "reply",
    [
        {"body": "<html><body>502 Bad Gateway</body></html>"},
        {"body": ""},
        {"body": "[" * 100_000},
        {"body": "1" * 10_000},
        {"body": b"\x1f\x8b\x08\x00half", "headers": {"Content-Encoding": "gzip"}},
        {"body": b"never gzip", "headers": {"Content-Encoding": "gzip"}},
        {"body": gzip.compress(b'{"ok": 1}')[:-9], "headers": {"Content-Encoding": "gzip"}},
        {"body": b"{}", "headers": {"Content-Encoding": "br"}},
        {"sse": ['data: {"choices": []}\n\n', "data: [DONE]\n\n"]},
    ],
)
def test_what_is_not_json_is_malformed_and_perhaps_paid(reply):
    with serve(reply) as server:
        error = post(server)
    assert isinstance(error, Malformed)
    assert error.outcome_unknown


def test_a_refusal_in_a_broken_stream_is_certainly_unpaid():
    broken = {"status": 400, "body": b"never gzip", "headers": {"Content-Encoding": "gzip"}}
    with serve(broken) as server:
        assert not post(server).outcome_unknown


@pytest.mark.parametrize("coding", ["gzip", "identity"])
def test_a_reply_larger_than_allowed_is_never_held_in_memory(coding):
    bomb = b" " * (wire.LARGEST_REPLY + 1)
    body = gzip.compress(bomb) if coding == "gzip" else bomb
    with serve({"headers": {"Content-Encoding": coding}, "body": body}) as server:
        error = post(server)
    assert isinstance(error, Malformed)
    assert "16 MB" in str(error)


def test_a_redirect_is_named_and_never_followed():
    with serve() as elsewhere:
        away = {"status": 307, "headers": {"Location": elsewhere.url + "/chat/completions"}}
        with serve(away) as server:
            error = post(server, headers={"Authorization": "Bearer x"})
        assert isinstance(error, Denied)
        assert elsewhere.url.split("/")[2] in str(error)
        assert not elsewhere.requests


# ---- keys --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "echo",
    [
        {"status": 401, "json": {"error": {"message": f"Incorrect API key: {KEY.reveal()}"}}},
        {"status": 401, "json": {"error": {"message": f"bad {KEY.reveal()[:15]}***"}}},
        {"status": 500, "body": f"<p>{KEY.reveal()}</p>"},
        {"status": 302, "headers": {"Location": f"http://{KEY.reveal()}.test/"}},
        {"status": 200, "body": f"token {KEY.reveal()}"},
        {"status": 400, "json": {"error": "x" * 290 + KEY.reveal()}},
    ],
)
def test_a_key_that_a_server_echoes_is_masked(echo):
    headers = {"Authorization": f"Bearer {KEY.reveal()}"}
    with serve(echo) as server:
        outcome = post(server, headers=headers, secrets=(KEY,))
        assert server.requests[0].headers["Authorization"].endswith(KEY.reveal())
    error = outcome if isinstance(outcome, Exception) else outcome.fault.error()
    shown = f"{error!r} {error} {error.__cause__} {error.__context__}"
    assert "CANARY" not in shown.upper()
    assert "***" in shown


def test_a_secret_shows_itself_in_no_way_but_one():
    assert "CANARY" not in f"{KEY} {KEY!r} {KEY.__class__} {[KEY]} {vars(Wire)}"
    assert KEY.reveal().startswith("sk-CANARY")
    with pytest.raises(TypeError):
        __import__("pickle").dumps(KEY)


@pytest.mark.parametrize("value", ["", "  \n", "sk-1\nX-Evil: 1", "sk-ключ"])
def test_a_key_that_no_header_can_carry_is_refused_without_being_shown(value):
    with pytest.raises(ConfigError) as refused:
        Secret(value)
    assert "sk-" not in str(refused.value)


def test_a_servers_words_are_one_line_of_300_characters():
    with serve({"status": 500, "body": "a\x1b[31m\n\r\x00\u202e" + "b" * 999}) as server:
        says = post(server).fault.says
    assert len(says) == 300
    assert says.isprintable()


# ---- where to ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "https://api.example.test/v1?key=sk-CANARY0000000000000000",
        "https://api.example.test/v1?sk-CANARY0000000000000000",
        "https://api.example.test/v1?api-version=sk-CANARY0000000000000000",
        "https://api.example.test/sk-CANARY0000000000000000/v1",
        "https://api.example.test/%73k-CANARY0000000000000000/v1",
        "https://api.example.test/v1#sk-CANARY0000000000000000",
        "https://sk-CANARY0000000000000000@api.example.test/v1",
        "https://user:sk-CANARY0000000000000000@api.example.test/v1",
        "sk-CANARY0000000000000000",
        "ftp://api.example.test/sk-CANARY0000000000000000",
        "http://[sk-CANARY0000000000000000",
    ],
)
def test_a_base_url_that_is_none_or_holds_a_key_is_refused_without_being_shown(url):
    with pytest.raises(ConfigError) as refused:
        Wire(url)
    assert "CANARY" not in f"{refused.value!r} {refused.value.__cause__}".upper()


def test_a_key_of_any_shape_is_found_in_the_url_by_its_value():
    with pytest.raises(ConfigError, match="holds a key"):
        checked_url("https://gateway.test/c0ffee-c0ffee/v1", (Secret("c0ffee-c0ffee"),))


@pytest.mark.parametrize(
    ("given", "one_spelling"),
    [
        ("https://API.OpenAI.com:443/v1/", "https://api.openai.com/v1"),
        (" http://localhost:11434/v1", "http://localhost:11434/v1"),
        ("http://[::1]:8000", "http://[::1]:8000"),
        ("https://a.test/x?api-version=2024-02-01", "https://a.test/x?api-version=2024-02-01"),
    ],
)
def test_an_endpoint_has_one_spelling(given, one_spelling):
    assert Wire(given).endpoint == one_spelling


@pytest.mark.parametrize(
    "host",
    [
        "169.254.169.254",
        "169.254.170.2",
        "[fd00:ec2::254]",
        "[::ffff:169.254.169.254]",
        "[64:ff9b::a9fe:a9fe]",
        "[2002:a9fe:a9fe::1]",
        "100.100.100.200",
        "metadata.google.internal",
        "Metadata.Google.Internal.",
    ],
)
def test_a_metadata_address_is_refused_in_every_spelling(host):
    with pytest.raises(ConfigError, match="metadata"):
        Wire(f"http://{host}/v1")


def test_private_addresses_are_allowed_because_the_user_names_them():
    hosts = ("127.0.0.1", "::1", "10.0.0.7", "192.168.1.5", "fd00::1", "localhost", "8.8.8.8")
    assert not any(map(is_metadata, hosts))


def test_a_name_that_resolves_to_a_metadata_address_is_refused_when_connecting(monkeypatch):
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("169.254.169.254", 80))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    error = run(settled(Wire("http://judge.test/v1")))
    assert isinstance(error, Denied)
    assert "metadata" in str(error)


# ---- how long to wait --------------------------------------------------------------------------

NOON = "Sun, 06 Nov 1994 12:00:00 GMT"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "20"}, 20),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "500ms"}, 0.5),
        ({"retry-after-ms": "500", "retry-after": "1"}, 0.5),
        ({"retry-after": "Sun, 06 Nov 1994 12:00:05 GMT", "date": NOON}, 5),
        ({"retry-after": "Sun, 06 Nov 1994 11:59:00 GMT", "date": NOON}, None),
        ({"x-ratelimit-reset-requests": "500ms"}, 0.5),
        ({"x-ratelimit-reset-requests": "1s", "x-ratelimit-reset-tokens": "6m0s"}, 360),
        ({"x-ratelimit-reset-tokens": "6m0s", "x-ratelimit-remaining-tokens": "900"}, None),
        ({"x-ratelimit-reset": "1735689600"}, None),
        ({"retry-after": "nan", "x-ratelimit-reset-requests": "2s"}, 2),
        ({}, None),
    ],
)
def test_the_wait_a_server_asks_for_is_read_from_whichever_header_it_uses(headers, seconds):
    assert retry_after(headers) == seconds


@pytest.mark.parametrize(
    "nonsense",
    ["", "-5", "0", "nan", "inf", "-inf", "1e9", "soon", "99999999999", "5 5", "9" * 400],
)
def test_nonsense_waits_are_ignored(nonsense):
    assert retry_after({"retry-after": nonsense, "retry-after-ms": nonsense}) is None


def test_a_wait_in_the_message_is_read():
    assert retry_after({}, "Rate limit reached. Please try again in 1.2s. Visit ...") == 1.2
    assert retry_after({}, "Please retry in 34.07s.") == 34.07


def test_units_are_told_apart():
    assert [duration(t) for t in ("500 milliseconds", "2 minutes", "1h", "1m 30s")] == [
        0.5,
        120,
        None,
        90,
    ]
    assert LONGEST_WAIT_S < 3600
