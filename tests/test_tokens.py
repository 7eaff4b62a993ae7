import pytest
from hypothesis import given
from hypothesis import strategies as st

from twopan.tokens import fewest, most

COUNTED = [
    ("The committee weighed both answers twice and found the second one a little clearer.", 15),
    ("Die Donaudampfschifffahrtsgesellschaft fand die zweite Antwort verständlicher.", 23),
    ("def cost(self, use: Usage) -> float:\n        return use.input * self.input_usd / 1e6\n", 26),
    ('{"item": "q-17", "a_score": 0.8125, "consistent": true, "votes": [1, 0, 1]}', 38),
    ("0.1344,8474,abc\n0.7637,2550,abc\n0.4954,4494,abc\n", 42),
    ("委员会两次权衡了两个答案，发现第二个稍微清楚一些。", 14),
    ("委員会は両方の回答を二度検討し、二番目の方が少し明確だと判断しました。", 28),
    ("위원회는 두 답변을 두 번 검토하고 두 번째 답변이 조금 더 명확하다고 판단했습니다.", 24),
    ("Комитет дважды взвесил оба ответа и нашёл второй немного яснее.", 24),
    ("คณะกรรมการพบว่าคำตอบที่สองชัดเจนกว่าเล็กน้อย", 18),
    ("समिति ने दोनों उत्तरों को दो बार तौला और दूसरे को थोड़ा अधिक स्पष्ट पाया।", 72),
    ("ဒုတိယအဖြေသည် အနည်းငယ် ပိုရှင်းကြောင်း တွေ့ရှိခဲ့သည်။", 79),
    ("龘靐齉爩鱻麤虋讟鸝籲灪龖厵纞", 27),
    ("∀x∈ℝ: x²≥0 ⇒ ∑ᵢ₌₁ⁿ √(αᵢ²+βᵢ²) ≤ 1", 33),
    ("=" * 80 + "\n" + " " * 60 + "x", 4),
    ("😀🤖🦄" * 5, 15),
]
"""Texts and their tokens, as the tokenizer of Qwen2.5-Coder counts them: byte-pair, 152,000
pieces, a token for each digit."""


@pytest.mark.parametrize(("text", "tokens"), COUNTED)
def test_what_a_tokenizer_counts_lies_between_the_bounds(text, tokens):
    assert fewest(text) <= tokens <= most(text)


def test_the_bounds_of_english_are_near_enough_to_be_of_use():
    text, tokens = COUNTED[0]
    assert tokens / 2 < fewest(text)
    assert most(text) < 3 * tokens


@given(st.text(st.characters(codec=None)))
def test_the_bounds_are_in_order_and_no_token_is_less_than_a_byte(text):
    assert 0 <= fewest(text) <= most(text) <= len(text.encode("utf-8", "surrogatepass"))
