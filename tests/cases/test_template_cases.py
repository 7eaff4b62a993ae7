"""The replayable template cases: a prompt with a slip costs no call, and runs no code."""

import re
from dataclasses import replace

import pytest

from cases.loading import cases
from twopan.data import Item, Pair, Response
from twopan.errors import ConfigError
from twopan.prompts import Prompts, Template
from twopan.protocols import both_orders

pytestmark = pytest.mark.anyio


def override(directory, text):
    """The shipped pairwise prompt with the case's words added, so that these alone can be wrong."""
    path = directory / "pairwise.md"
    path.write_text(Prompts().load("pairwise").text + text, encoding="utf-8")
    return Prompts(directory)


def in_our_words(text):
    """A template for str.format, its placeholders written as ours are."""
    return re.sub(r"\{(\w+)\}", r"{{ \1 }}", text)


@pytest.mark.parametrize("case", cases("template"))
def test_a_template_in_another_language_is_refused_when_it_is_read(case, tmp_path):
    prompts = override(tmp_path, case["input"]["text"])
    for read in (prompts.check, lambda: prompts.load("pairwise")):
        with pytest.raises(ConfigError, match="is no placeholder") as error:
            read()
        for unwanted in case["expected"].get("output_lacks", ()):
            assert unwanted not in str(error.value)
        for wanted in case["expected"].get("message_contains", ()):
            assert wanted in str(error.value)


@pytest.mark.parametrize("case", cases("DATA-028"))
def test_a_placeholder_that_the_data_lacks_is_an_error_that_names_it(case):
    template = Template("case", "Judge.\n---\n" + in_our_words(case["input"]["text"]))
    with pytest.raises(ConfigError) as error:
        template.render(**case["input"]["vars"])
    assert all(word in str(error.value) for word in case["expected"]["message_contains"])


async def test_a_reference_that_an_item_lacks_is_an_error_before_any_call(tmp_path, judge_that):
    """DATA-028, end to end: the prompt insists on a reference, and the item has none."""
    text = Prompts().load("pairwise").text.replace("{{ reference? }}", "{{ reference }}")
    (tmp_path / "pairwise.md").write_text(text, encoding="utf-8")
    item = Item(id="q", instruction="Add 1 and 1.")
    a, b = (Response(item_id="q", system=name, text=name) for name in ("one", "two"))
    plain, provider = judge_that(lambda prompt: "A")
    judge = replace(plain, prompts=Prompts(tmp_path))
    with pytest.raises(ConfigError, match="reference"):
        await both_orders(judge, Pair(item=item, a=a, b=b))
    assert provider.requests == []


@pytest.mark.parametrize("case", cases("DATA-026"))
async def test_template_syntax_in_a_response_reaches_the_judge_verbatim(case, judge_that):
    verbatim = case["expected"]["prompt_contains_verbatim"]
    assert verbatim in case["input"]["text"]
    a = Response(item_id="1", system="one", text=verbatim)
    b = Response(item_id="1", system="two", text="plain")
    judge, provider = judge_that(lambda prompt: "A")
    await both_orders(judge, Pair(item=Item(id="1", instruction=verbatim), a=a, b=b))
    assert [request.messages[-1].text.count(verbatim) for request in provider.requests] == [2, 2]
