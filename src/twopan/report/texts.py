"""Text as a person may see it: keys masked, what is invisible made visible.

A report is mailed around, and everything in it was written by a model, by a data set or by a
stranger. ``shown`` is applied to every text of it exactly once, before the template escapes it.
"""

import re

REDACTED = "[redacted]"

# By a hint in lower case that stands in every text with such a key: a pattern is tried only where
# its hint is found, so most texts cost no more than a few plain searches. Patterns start at the
# beginning of a word, which keeps them linear. The prefixes are those that providers publish so
# that leaked keys can be recognised.
_SHAPES = {
    "private key-----": r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----"
    r"(?:.*?-----END [A-Z ]{0,40}PRIVATE KEY-----|.*)",
    "eyj": r"(?<![A-Za-z0-9_-])eyJ[\w-]{8,}\.eyJ[\w-]{8,}(?:\.[\w-]*)?",  # a JSON web token
    "sk-": r"(?<![A-Za-z0-9])sk-[\w-]{12,}",  # OpenAI, Anthropic, OpenRouter, ...
    "k_live_": r"\b[rsp]k_live_[A-Za-z0-9]{10,}",  # Stripe
    "k_test_": r"\b[rsp]k_test_[A-Za-z0-9]{10,}",
    "akia": r"(?<![A-Za-z0-9])AKIA[A-Z0-9]{12,}",  # AWS
    "asia": r"(?<![A-Za-z0-9])ASIA[A-Z0-9]{12,}",
    "gh": r"(?<![A-Za-z0-9])gh[opusr]_[A-Za-z0-9]{16,}",
    "github_pat_": r"\bgithub_pat_\w{16,}",
    "glpat-": r"\bglpat-[\w-]{16,}",
    "xox": r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}",  # Slack
    "xapp-": r"\bxapp-[A-Za-z0-9-]{10,}",
    "aiza": r"(?<![A-Za-z0-9])AIza[\w-]{30,}",  # Google
    "ya29.": r"\bya29\.[\w-]{16,}",
    "hf_": r"(?<![A-Za-z0-9])hf_[A-Za-z0-9]{16,}",
    "npm_": r"\bnpm_[A-Za-z0-9]{16,}",
    "gsk_": r"\bgsk_[A-Za-z0-9]{16,}",
    "xai-": r"\bxai-[\w-]{16,}",
    "pplx-": r"\bpplx-[\w-]{16,}",
    "pypi-": r"\bpypi-[\w-]{16,}",
    "nvapi-": r"\bnvapi-[\w-]{16,}",
    "lin_api_": r"\blin_api_\w{16,}",
    "sg.": r"\bSG\.[\w-]{16,}\.[\w-]{16,}",  # SendGrid
}
# What a key is called, in any case, then the key. The group is what stays of it.
_IS = r"[\"']?\s{0,4}[:=]\s{0,4}[\"']?"
_VALUE = r"(?=[^\s\d]{0,200}\d)[\w+/=.~-]{12,}"  # of some length, with a digit in it
_NAMES = {
    "bearer": r"\b(bearer\s{1,4})[\w.~+/=-]{12,}",
    "authorization": rf"\b(authorization{_IS}(?:[a-z]{{1,20}}\s{{1,4}})?)[^\s\"'<>]{{16,}}",
    "key": rf"((?:api|secret|access|account|private)[_ -]?(?:access[_ -]?)?key{_IS}){_VALUE}",
    "secret": rf"(client[_ -]?secret{_IS}){_VALUE}",
    "token": rf"((?:access|auth|refresh|session)[_ -]?token{_IS}){_VALUE}",
    "passw": rf"(passw(?:or)?d{_IS}){_VALUE}",
    "://": r"(://[^\s/:@]{1,100}:)[^\s/@]{1,200}(?=@)",
}
_KEYS = tuple(
    (hint, re.compile(pattern, flags))
    for patterns, flags in ((_SHAPES, re.DOTALL), (_NAMES, re.IGNORECASE))
    for hint, pattern in patterns.items()
)

# Everything that has no ink or reorders ink: controls, format characters, fillers, private tags.
_UNSEEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_PICTURE = "\u2190-\u21ff\u2300-\u27bf\u2900-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
# Inside an emoji a joiner or a selector is part of the picture and hides nothing: one after one.
_ESCAPED = re.compile(
    rf"(?<=[{_PICTURE}\ufe0f])\u200d(?=[{_PICTURE}])"
    rf"|(?<=[{_PICTURE}#*0-9©®])[\ufe0e\ufe0f]"
    rf"|([{_UNSEEN}]|[\ud800-\udfff])"
)


def mask(text: str) -> str:
    """The text with whatever has the shape of a key replaced.

    >>> mask("Authorization: Bearer sk-CANARY0000000000000000")
    'Authorization: Bearer [redacted]'
    """
    lowered = text.lower()
    for hint, pattern in _KEYS:
        if hint in lowered:
            text = pattern.sub(_redacted, text)
    return text


def _redacted(match: re.Match[str]) -> str:
    return "".join(group or "" for group in match.groups()) + REDACTED


def visible(text: str) -> str:
    r"""The text with invisible characters written out, and none that UTF-8 cannot hold.

    >>> visible("model-\u202eTSEB")
    'model-⟨U+202E⟩TSEB'
    >>> visible("half \ud835 char")
    'half \\ud835 char'
    """
    return _ESCAPED.sub(_write_out, text.replace("\r\n", "\n"))


def _write_out(match: re.Match[str]) -> str:
    character: str | None = match[1]
    if character is None:
        return match[0]
    code = ord(character)
    return f"\\u{code:04x}" if 0xD800 <= code <= 0xDFFF else f"⟨U+{code:04X}⟩"


def shown(text: str) -> str:
    return visible(mask(text))
