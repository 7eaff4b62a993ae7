"""What vLLM adds to the chat API: ``/tokenize``, ``/detokenize`` and ``prompt_logprobs``.

    vllm = Vllm()
    with serve(otherwise=vllm) as server:
        ...

Shapes as vLLM sends them. The tokenizer knows words with the space before them, runs of line ends
and the template's markers; a character beyond ASCII is a token a byte. So text and template, turned
into tokens together, would often not be those of each. How probable a token is depends on all that
stands before it.

``edit`` maps a path to a function that changes what is sent there.
"""

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from servers.chat import Reply, Seen, fake_judge

PIECE = re.compile(r"<\|\w+\|>|\n+| ?[A-Za-z]+|[^\x00-\x7f]|.", re.DOTALL)
BOS = "<|bos|>"


@dataclass
class Vllm:
    edit: dict[str, Callable[[dict[str, Any]], Any]] = field(default_factory=dict)
    system_role: bool = True
    words: list[str] = field(default_factory=list)

    def __call__(self, seen: Seen) -> Reply:
        path = seen.path.partition("?")[0].removeprefix("/v1")
        answer = {
            "/tokenize": self._tokenize,
            "/detokenize": self._detokenize,
            "/completions": self._completions,
        }.get(path)
        if answer is None:
            return fake_judge(seen)
        roles = {message["role"] for message in seen.json.get("messages", [])}
        if "system" in roles and not self.system_role:
            return error("System role not supported None")
        body = answer(seen.json)
        return {"json": self.edit[path](body) if path in self.edit else body}

    def tokens(self, text: str) -> list[int]:
        ids: list[int] = []
        for piece in PIECE.findall(text):
            if not piece.isascii():
                ids += piece.encode()
                continue
            if piece not in self.words:
                self.words.append(piece)
            ids.append(256 + self.words.index(piece))
        return ids

    def piece(self, token: int) -> bytes:
        return bytes([token]) if token < 256 else self.words[token - 256].encode()

    def prompt(self, messages: Sequence[dict[str, str]]) -> str:
        """The chat template. It ends with a line end, as many do."""
        turns = "".join(f"<|{m['role']}|>\n{m['content']}<|end|>\n" for m in messages)
        return f"{BOS}{turns}<|assistant|>\n"

    def logprob(self, before: Sequence[int], token: int) -> float:
        """GOOD is likelier after a prompt with "Add" in it; nothing else is so simple."""
        if self.piece(token).strip() == b"GOOD":
            return -1.0 if any(b"Add" in self.piece(each) for each in before) else -6.0
        read = b"|".join(map(self.piece, [*before, token]))  # by what they say: numbers vary
        return -0.25 - hashlib.sha256(read).digest()[0] / 256

    def _tokenize(self, asked: dict[str, Any]) -> dict[str, Any]:
        if "messages" in asked:
            ids = self.tokens(self.prompt(asked["messages"]))
        else:
            ids = self.tokens(BOS) * asked.get("add_special_tokens", True)
            ids += self.tokens(asked["prompt"])
        return {"count": len(ids), "max_model_len": 4096, "tokens": ids, "token_strs": None}

    def _detokenize(self, asked: dict[str, Any]) -> dict[str, Any]:
        return {"prompt": b"".join(map(self.piece, asked["tokens"])).decode(errors="replace")}

    def _completions(self, asked: dict[str, Any]) -> dict[str, Any]:
        ids = asked["prompt"]
        wanted = asked.get("prompt_logprobs")
        listed = [None, *(self._listed(ids, at) for at in range(1, len(ids)))]
        choice = {
            "index": 0,
            "text": " and",
            "logprobs": None,
            "finish_reason": "length",
            "stop_reason": None,
            "token_ids": None,
            "prompt_logprobs": None if wanted is None else listed,
            "prompt_token_ids": None,
        }
        usage = {
            "prompt_tokens": len(ids),
            "total_tokens": len(ids) + 1,
            "completion_tokens": 1,
            "prompt_tokens_details": None,
        }
        return {
            "id": "cmpl-1",
            "object": "text_completion",
            "created": 1,
            "model": asked["model"],
            "choices": [choice],
            "usage": usage,
            "kv_transfer_params": None,
        }

    def _listed(self, ids: Sequence[int], at: int) -> dict[str, Any]:
        """The token that stands there, and the likeliest, where that is another."""
        own = self._entry(ids[at], self.logprob(ids[:at], ids[at]), rank=2)
        return own | self._entry(256, -0.125, rank=1) if ids[at] != 256 else own

    def _entry(self, token: int, logprob: float, rank: int) -> dict[str, Any]:
        piece = self.piece(token).decode(errors="replace")
        return {str(token): {"logprob": logprob, "rank": rank, "decoded_token": piece}}


def error(message: str, status: int = 400, kind: str = "BadRequestError") -> Reply:
    """A refusal in vLLM's form."""
    told = {"message": message, "type": kind, "param": None, "code": status}
    return {"status": status, "json": {"error": told}}
