"""The report: what stands in it, what must not, and that it arrives whole."""

import base64
import csv
import hashlib
import io
import json
import re
import stat

import html5lib
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reports import HARMLESS, page, pair, result, spent

from twopan.errors import ConfigError
from twopan.lines import to_line
from twopan.pipelines.gate import decide
from twopan.report import check_writable, listing, notebook, render_gate, write
from twopan.report.charts import kind, lengths, scores, tally
from twopan.report.seats import agreed, embedded, parts
from twopan.report.table import COLUMNS, cell, original, write_csv
from twopan.report.texts import mask, shown, visible
from twopan.saving import replacing

PAYLOADS = {
    "element": "<img src=x onerror=\"document.title='PWNED'\">",
    "script": "</ScRiPt><script>document.title='PWNED'</script>",
    "comment": "<!--<script>document.title='PWNED'//",
    "double quote": '" autofocus onfocus="document.title=\'PWNED\'" x="',
    "single quote": "' onmouseover='document.title=1' x='",
    "drawing": "<svg/onload=document.title='PWNED'>",
    "end of title": "</title></style></noscript></textarea><script>document.title='PWNED'</script>",
    "link": "[a](javascript:document.title='PWNED') ![b](http://attacker.test/p.png)",
    "template": "{{ 7*7 }}{% include 'page.html' %}__DATA__${7*7}<%= 7*7 %>",
    "line separators": "a\u2028document.title='PWNED'\u2029b",
    "style": "}</style><style>@import url(http://attacker.test/s.css);body{background:url(//attacker.test)}",
    "json": '"}],"rows":[],"__proto__":{"x":1}\\u003c\\',
    "entities": "&lt;b&gt; &#60;script&#62; &amp;amp;",
}


def tree(html):
    return html5lib.parse(html, namespaceHTMLElements=False)


def data_of(html):
    return json.loads(tree(html).find(".//script[@id='data']").text)


def words_of(html):
    """All text outside scripts and styles."""
    root = tree(html)
    for parent in root.iter():
        for child in list(parent):
            if child.tag in ("script", "style"):
                child.text = ""
    return " ".join(" ".join(root.itertext()).split())


def skeleton(html):
    """Elements and names of attributes in their order, our own marks of written-out text apart."""
    return [
        (node.tag, tuple(sorted(map(str, node.attrib))))
        for node in tree(html).iter()
        if node.get("class") != "esc"
    ]


# ---- nothing that was judged becomes markup


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
def test_text_in_any_place_leaves_the_markup_as_it_is(payload):
    plain = dict.fromkeys(HARMLESS, "x" * len(payload))  # as long: lengths are drawn
    assert skeleton(page(**dict.fromkeys(HARMLESS, payload))) == skeleton(page(**plain))


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
def test_text_in_any_place_of_a_notebook_leaves_the_markup_as_it_is(payload):
    made = result(**dict.fromkeys(HARMLESS, payload))
    plain = result(**dict.fromkeys(HARMLESS, "x" * len(payload)))
    assert skeleton(notebook(made)) == skeleton(notebook(plain))


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
def test_text_is_carried_unchanged(payload):
    row = data_of(page(response=payload, reasoning=payload))["rows"][0]
    assert row["texts"][0] == visible(payload)
    assert row["votes"][0]["looks"][0]["reasoning"] == visible(payload)


@given(st.text())
def test_any_text_survives_the_way_into_the_page_and_out(text):
    written = listing.safe_json([visible(text)])
    assert not set(written) & set("<>&'=`\u2028\u2029")
    assert json.loads(written) == [visible(text)]


def test_the_policy_allows_exactly_the_style_and_the_script_of_the_page():
    root = tree(page())
    (policy,) = (
        meta.get("content")
        for meta in root.iter("meta")
        if meta.get("http-equiv") == "Content-Security-Policy"
    )

    def allowed(text):
        return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"

    (style,) = root.iter("style")
    (script,) = (s for s in root.iter("script") if s.get("type") is None)
    assert policy.split("; ") == [
        "default-src 'none'",
        f"style-src {allowed(style.text)}",
        f"script-src {allowed(script.text)}",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    assert not [node.tag for node in root.iter() if node.get("style")]
    assert not [name for node in root.iter() for name in node.attrib if str(name).startswith("on")]


def test_the_script_knows_no_way_to_make_markup_from_text():
    script = tree(page()).findall(".//script")[-1].text
    for way in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "Function("):
        assert way not in script


def test_a_search_for_foreign_elements_finds_none_of_ours():
    assert not re.search(r"<(svg|img|iframe|object|embed|form|link rel=.?style)", page())


# ---- what stands in it


@pytest.mark.parametrize(
    ("letters", "word"), [("A" * 20, "Promote A"), ("B" * 20, "Keep B"), ("ABAB", "Inconclusive")]
)
def test_the_decision_is_said_in_words(letters, word):
    text = words_of(page(letters))
    assert word in text
    assert result(letters).because in text


def test_every_rate_stands_with_its_interval_and_n():
    made = result("AAABti?", rules={"min_coverage": 0.5})
    text = words_of(render_gate(made))
    for rate in (made.half_ties, made.decisive, made.expected):
        assert f"{rate.estimate:.1%} [{rate.low:.1%}, {rate.high:.1%}] {rate.m}" in text


def test_counts_coverage_and_reasons_are_said():
    text = words_of(page("AAABtti?", reason="refused"))
    assert "1 B preferred 1 Inconsistent 2 Tie 3 A preferred 1 Unjudged" in text
    assert "7 of 8 pairs judged (87.5%)" in text
    assert "refused 1" in text


def test_a_result_without_a_verdict_has_a_page():
    made = result("???")
    text = words_of(render_gate(made))
    assert "No pair was judged, so there is no rate" in text
    assert "Inconclusive" in notebook(made)


def test_a_jury_is_shown_juror_by_juror():
    made = result("AiB", judges=2)
    assert words_of(render_gate(made)).count("2 of 3 comparisons") == 2
    assert len(data_of(render_gate(made))["rows"][0]["votes"]) == 2


def test_the_model_that_answered_is_named_beside_the_one_that_was_asked():
    text = words_of(render_gate(result(), spent(served={"judge-large-2026-01-10": 10})))
    assert "judge-large-2026-01-10 (10 replies)" in text
    assert "120 replies from the ledger" in text


def test_what_is_not_known_of_the_cost_is_said():
    text = words_of(render_gate(result(), spent(unpriced=3, unknown=1)))
    assert "$0.0123, and 3 calls of unknown price" in text
    assert "1 attempt may have been answered, and charged" in text
    assert "Not recorded with this result" in words_of(render_gate(result()))


LOCAL = "{}@gguf:3f1a9c20d4b7e851,llama.cpp|prepair@1+2|helpful@3|temperature=0|both orders|twopan"
MEASURED = "any@gguf:cc324af070c2ecbf,xllamacpp|likelihood@1|r@2|t=0|both orders|v"


def test_the_embedded_judge_comes_with_a_caution():
    text = words_of(page("AAi", signature=MEASURED))
    assert "not a referee to trust: asked as here it agreed with people on" in text
    assert agreed(MEASURED) in text
    assert re.search(r"\d+% \[\d+, \d+\] of \d+ adversarial pairs of LLMBar", text)
    assert "here it was consistent in 2 of 3 comparisons" in text


def test_figures_measured_on_one_model_are_not_quoted_for_another():
    for other in (
        LOCAL.format("qwen2.5-coder-1.5b"),
        MEASURED.replace("|likelihood@", "|prepair@+graded"),
    ):
        text = words_of(page("AAi", signature=other))
        assert "has not been measured" in text
        assert "LLMBar" not in text


def test_a_hosted_judge_needs_no_caution_of_that_kind():
    signature = "qwen2.5-coder-1.5b@https://api.example.test/v1|p@1|r@2|t=0|both orders|v"
    assert embedded(signature) == "no"
    assert "Caution." not in words_of(page(signature=signature))


def test_a_signature_of_another_form_stays_whole():
    assert parts("scripted") == (("signature", "scripted"),)


def test_drawings_have_names_and_tables():
    root = tree(page())
    named = [s for s in root.iter("{http://www.w3.org/2000/svg}svg") if s.get("role") == "img"]
    named += [s for s in root.iter("svg") if s.get("role") == "img"]
    ids = {node.get("id") for node in root.iter()}
    assert len(named) == 4
    assert all(set(s.get("aria-labelledby").split()) <= ids for s in named)
    assert [s.text for s in root.iter("summary")] == ["As a table", "As a table"]


def test_the_same_result_gives_the_same_page():
    assert page() == page()


# ---- keys and invisible characters

KEYS = [
    "sk-CANARY0000000000000000",
    "sk-proj-CANARY_0000-0000000000",
    "AKIACANARY0000000000",
    "ghp_CANARY00000000000000000000000000000000",
    "github_pat_CANARY000000000000000_0000",
    "glpat-CANARY00000000000000",
    "xoxb-CANARY000000-000000",
    "AIzaCANARY000000000000000000000000000000",
    "hf_CANARY0000000000000000000000",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJDQU5BUlkifQ.c2lnbmF0dXJl",
    "sk_live_CANARY0000000000",
    "-----BEGIN RSA PRIVATE KEY-----\nCANARY\n-----END RSA PRIVATE KEY-----",
]


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize(
    "frame", ["{}", "key={}", "Authorization: Bearer {}", '{{"api_key": "{}"}}']
)
def test_what_has_the_shape_of_a_key_is_masked_in_any_place(key, frame):
    html = page(**dict.fromkeys(HARMLESS, frame.format(key)))
    assert key not in html
    assert "CANARY" not in html
    assert "[redacted]" in html


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer CANARYabcdef0123456789",
        "authorization=Basic CANARYQWxhZGRpbjpvcGVu==",
        "X-API-Key: CANARY0123456789abcdef",
        "client_secret = 'CANARY0123456789'",
        "AWS_SECRET_ACCESS_KEY=CANARY/K7MDENG/bPxRfiCY0",
        "https://user:CANARY@proxy.test:8080/",
    ],
)
def test_what_is_called_a_key_is_masked(text):
    assert "CANARY" not in mask(text)


@pytest.mark.parametrize(
    "text",
    [
        "task-oriented and risk-averse-behaviour",
        "Ask the bearer of the letter.",
        "api_key = os.environ['KEY']",
        "password: choose a long one",
        "http://localhost:8080/a@b",
        "authorization: required",
    ],
)
def test_ordinary_words_are_not(text):
    assert mask(text) == text


def test_a_key_across_the_cut_of_a_long_text_leaves_no_part(monkeypatch):
    monkeypatch.setattr(listing, "LONGEST", (92,))
    html = page(response="x " * 44 + "sk-CANARY0000000000000000")
    assert "CANARY" not in html
    assert "more characters]" in html


@pytest.mark.parametrize(
    "character",
    ["\u202e", "\u200b", "\ufeff", "\u2066", "\x1b", "\x00", "\x85", "\U000e0041", "\r"],
)
def test_what_cannot_be_seen_is_written_out(character):
    assert visible(f"a{character}b") == f"a⟨U+{ord(character):04X}⟩b"


@pytest.mark.parametrize("text", ["a\tb\nc\r\nd", "👩‍👩‍👧 ❤️ 1️⃣", "שלום عربى", "naïve ½ 日本"])
def test_what_can_be_seen_stays(text):
    assert visible(text) == text.replace("\r\n", "\n")


def test_names_are_isolated_from_what_stands_beside_them():
    root = tree(page(candidate="model-\u202eTSEB\u202c-v1"))
    assert any(
        "".join(bdi.itertext()) == "model-⟨U+202E⟩TSEB⟨U+202C⟩-v1" for bdi in root.iter("bdi")
    )


# ---- pages that would be too large


def test_where_pairs_do_not_fit_the_undecided_ones_are_kept_and_the_page_says_so(monkeypatch):
    whole = listing.of(result("A" * 30 + "iit?"), {})
    monkeypatch.setattr(listing, "ROOM", len(whole.json) // 2)
    made = result("A" * 30 + "iit?")
    html = render_gate(made)
    carried = [row["no"] for row in data_of(html)["rows"]]
    assert {31, 32, 33, 34} < set(carried)
    assert carried == sorted(carried)
    assert f"It carries {len(carried)} of 34" in words_of(html)
    assert len(listing.of(made, {}).json) < len(whole.json)


def test_long_texts_are_cut_only_where_the_whole_does_not_fit(monkeypatch):
    long = "word " * 1000
    assert data_of(page(response=long))["rows"][0]["texts"][0] == long
    monkeypatch.setattr(listing, "ROOM", 20_000)
    html = page(response=long)
    assert data_of(html)["rows"][0]["texts"][0].endswith("[… 3,500 more characters]")
    assert "Texts are cut after 1,500 characters" in words_of(html)


def test_many_pairs_become_bars_and_a_sample_of_points():
    made = result("ABi" * 700)
    assert sum(block.count for column in scores(made).columns for block in column) == 2100
    assert len(lengths(made).points) == 1500
    assert len(scores(made).columns) == 21


def test_a_drawing_counts_every_pair_once():
    made = result("AAABBtti?")
    assert tally(made.outcomes) == {
        "candidate": 3, "tie": 2, "inconsistent": 1, "baseline": 2, "unjudged": 1,
    }  # fmt: skip
    assert sum(sum(c.values()) for c in scores(made).counts) == len(made.verdicts)
    assert sum(sum(c.values()) for c in lengths(made).counts.values()) == len(made.verdicts)
    assert kind(made.outcomes[-1]) == "unjudged"


# ---- the file


def test_half_a_surrogate_pair_costs_one_character_and_not_the_file(tmp_path):
    write(tmp_path / "r.html", page(response="half \ud835 char", note="\ud800"))
    assert "half \\\\ud835 char" in (tmp_path / "r.html").read_bytes().decode()
    write(tmp_path / "raw.html", "\ud835")
    assert (tmp_path / "raw.html").read_bytes() == b"\\ud835"


def test_a_file_that_cannot_be_finished_leaves_the_old_one(tmp_path):
    path = tmp_path / "r.html"
    write(path, "old")

    def half_of_it():
        with replacing(path) as file:
            file.write("new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        half_of_it()
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["r.html"]


def test_a_report_is_for_its_owner(tmp_path):
    write(tmp_path / "r.html", "x")
    assert stat.S_IMODE((tmp_path / "r.html").stat().st_mode) == 0o600


@pytest.mark.parametrize("name", ["no/such/folder/r.html", ".", "file/r.html", "nul\0.html"])
def test_a_place_that_cannot_hold_a_report_is_found_beforehand(tmp_path, name):
    (tmp_path / "file").write_text("")
    for act in (check_writable, lambda path: write(path, "x")):
        with pytest.raises(ConfigError, match=r"^cannot write .*: .*"):
            act(str(tmp_path / name))


def test_looking_whether_a_report_can_be_written_leaves_nothing(tmp_path):
    check_writable(tmp_path / "r.html")
    assert not list(tmp_path.iterdir())


# ---- spreadsheets


def table(lines):
    file = io.StringIO(newline="")
    write_csv(file, lines)
    file.seek(0)
    return file


def lines_of(made):
    return [to_line(p, o, made.signature) for p, o in zip(made.pairs, made.outcomes, strict=True)]


def test_numbers_stay_numbers_and_failures_stay_empty():
    rows = list(csv.DictReader(table(lines_of(result("AB?")))))
    assert [row["a_score"] for row in rows] == ["1.0", "0.0", ""]
    assert [row["choice"] for row in rows] == ["a", "b", ""]
    assert rows[2]["unjudged"] == "unparsed"
    assert ",1.0," in table(lines_of(result("A"))).read()


@given(st.text() | st.text(alphabet="'=+-@\t\r\n \u200b\uff1d\u2212a1"))
def test_any_cell_is_no_formula_and_reads_back_equal(text):
    written = str(cell(text))
    assert not written.lstrip(" \u200b").startswith(("=", "+", "-", "@", "\t", "\r"))
    assert original(written) == mask(text)


@given(st.lists(st.text(alphabet="a,;\"'\n\r\t =", max_size=8), min_size=1))
def test_a_table_parses_back(texts):
    made = decide(
        [pair(str(n), candidate="a", baseline="b") for n, _ in enumerate(texts)],
        result("A" * len(texts), ids=[str(n) for n, _ in enumerate(texts)]).outcomes,
    )
    lines = [line | {"detail": text} for line, text in zip(lines_of(made), texts, strict=True)]
    rows = list(csv.reader(table(lines), strict=True))
    assert rows[0] == list(COLUMNS)
    assert [original(row[COLUMNS.index("detail")]) for row in rows[1:]] == texts


def test_a_table_goes_to_a_file_whole(tmp_path):
    write_csv(tmp_path / "v.csv", lines_of(result("AB", reasoning="half \ud835, =1")))
    with (tmp_path / "v.csv").open(encoding="utf-8", newline="") as file:
        assert next(csv.DictReader(file))["a_shown_first"] == "half \\ud835, =1"


def test_shown_is_masked_and_visible():
    assert shown("Bearer sk-CANARY0000000000000000\u202e") == "Bearer [redacted]⟨U+202E⟩"
