"""llama.cpp in this process, through the C functions that the xllamacpp wheel exports.

The wheel's own interface is a web server; ours needs what lies below it: the logits of the whole
vocabulary, and a decode that stops when it is told to. All that is particular to this runtime is
in this file, so that another can take its place behind the same few methods.

The functions and structures are those of ``include/llama.h`` in llama.cpp. Structures are passed
by value, so their layout is part of the binary interface; it is checked before anything is done.
"""

import ctypes as c
import os
import platform
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twopan.errors import ConfigError, Malformed, ProviderError

WHEEL = "2026.10.11549"
"""The release of xllamacpp whose structures are declared below."""

CHUNK = 512
"""Tokens a pass. Part of how sums are rounded, hence of the fingerprint: see ``identity``."""
ROWS = 64
"""Positions a pass whose logits are kept, each four bytes a word of the vocabulary. Likewise."""

_INSTALL = 'the embedded judge needs its runtime: pip install "twopan[local]"'


class Stopped(Exception):
    """A call ended because it was told to stop."""


class Stop:
    """A flag that C reads without waiting for Python's lock, between any two matrix products.

    llama.cpp asks a function ``bool (*)(void *)`` whether to abort. A Python function there would
    wait its turn for the interpreter hundreds of times a token. ``strlen`` has the right shape
    and needs no interpreter: it finds the empty string false and any other true.
    """

    def __init__(self) -> None:
        self.buffer = c.create_string_buffer(2)

    def set(self) -> None:
        self.buffer[0] = b"x"

    def __bool__(self) -> bool:
        return bool(self.buffer.value)


def identity() -> str:
    """What, besides the weights, decides the last bits of an answer. Cheap: loads nothing.

    The number of threads is not in it: each product is summed by one thread, whichever it is.
    Raises ConfigError where the runtime is not installed or not the one we know.
    """
    try:
        version = metadata.version("xllamacpp")
    except metadata.PackageNotFoundError:
        raise ConfigError(_INSTALL) from None
    if version != WHEEL:
        raise ConfigError(
            f"xllamacpp {version} is installed, but this binding was checked against {WHEEL}: "
            'pip install "twopan[local]"'
        )
    return f"xllamacpp {version} {platform.machine().lower()}, {CHUNK}/{ROWS} a pass"


class _ModelParams(c.Structure):
    _fields_ = (
        ("devices", c.c_void_p),
        ("tensor_buft_overrides", c.c_void_p),
        ("n_gpu_layers", c.c_int32),
        ("split_mode", c.c_int32),
        ("load_mode", c.c_int32),
        ("lazy_mode", c.c_int32),
        ("main_gpu", c.c_int32),
        ("tensor_split", c.c_void_p),
        ("progress_callback", c.c_void_p),
        ("progress_callback_user_data", c.c_void_p),
        ("kv_overrides", c.c_void_p),
        ("vocab_only", c.c_bool),
        ("check_tensors", c.c_bool),
        ("use_extra_bufts", c.c_bool),
        ("no_host", c.c_bool),
        ("no_alloc", c.c_bool),
        ("load_mtp", c.c_bool),
    )


class _ContextParams(c.Structure):
    _fields_ = (
        ("n_ctx", c.c_uint32),
        ("n_batch", c.c_uint32),
        ("n_ubatch", c.c_uint32),
        ("n_seq_max", c.c_uint32),
        ("n_rs_seq", c.c_uint32),
        ("n_outputs_max", c.c_uint32),
        ("n_outputs_max_per_seq", c.c_uint32),
        ("n_threads", c.c_int32),
        ("n_threads_batch", c.c_int32),
        ("ctx_type", c.c_int32),
        ("rope_scaling_type", c.c_int32),
        ("pooling_type", c.c_int32),
        ("attention_type", c.c_int32),
        ("flash_attn_type", c.c_int32),
        ("rope_freq_base", c.c_float),
        ("rope_freq_scale", c.c_float),
        ("yarn_ext_factor", c.c_float),
        ("yarn_attn_factor", c.c_float),
        ("yarn_beta_fast", c.c_float),
        ("yarn_beta_slow", c.c_float),
        ("yarn_orig_ctx", c.c_uint32),
        ("defrag_thold", c.c_float),
        ("cb_eval", c.c_void_p),
        ("cb_eval_user_data", c.c_void_p),
        ("type_k", c.c_int32),
        ("type_v", c.c_int32),
        ("moe_cache_size", c.c_size_t),
        ("abort_callback", c.c_void_p),
        ("abort_callback_data", c.c_void_p),
        ("embeddings", c.c_bool),
        ("offload_kqv", c.c_bool),
        ("no_perf", c.c_bool),
        ("op_offload", c.c_bool),
        ("swa_full", c.c_bool),
        ("kv_unified", c.c_bool),
        ("samplers", c.c_void_p),
        ("n_samplers", c.c_size_t),
        ("ctx_other", c.c_void_p),
    )


class _Batch(c.Structure):
    """Without positions and sequences, the tokens follow on in the one sequence there is."""

    _fields_ = (
        ("n_tokens", c.c_int32),
        ("token", c.POINTER(c.c_int32)),
        ("embd", c.c_void_p),
        ("pos", c.c_void_p),
        ("n_seq_id", c.c_void_p),
        ("seq_id", c.c_void_p),
        ("logits", c.POINTER(c.c_int8)),
    )


class _ChatMessage(c.Structure):
    _fields_ = (("role", c.c_char_p), ("content", c.c_char_p))


class _Candidates(c.Structure):
    _fields_ = (
        ("data", c.c_void_p),
        ("size", c.c_size_t),
        ("selected", c.c_int64),
        ("sorted", c.c_bool),
    )


_CANDIDATE = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])

# Defaults that tell the fields apart: were one added or moved, the values would shift.
_MODEL_DEFAULTS = (
    "n_gpu_layers=-1 split_mode=1 load_mode=-1 lazy_mode=1 main_gpu=0 vocab_only=False "
    "check_tensors=False use_extra_bufts=True no_host=False no_alloc=False load_mtp=False"
)
_CONTEXT_DEFAULTS = (
    "n_ctx=512 n_batch=2048 n_ubatch=512 n_seq_max=1 n_outputs_max_per_seq=1 n_threads=4 "
    "rope_scaling_type=-1 flash_attn_type=-1 yarn_ext_factor=-1.0 yarn_orig_ctx=0 "
    "defrag_thold=-1.0 cb_eval=None type_k=1 type_v=1 moe_cache_size=0 embeddings=False "
    "offload_kqv=True no_perf=True op_offload=True swa_full=True kv_unified=False n_samplers=0"
)

_int, _bool, _text, _at = c.c_int32, c.c_bool, c.c_char_p, c.c_void_p
_FUNCTIONS: dict[str, tuple[Any, ...]] = {  # name: (result, *arguments)
    "backend_init": (None,),
    "log_set": (None, _at, _at),
    "model_default_params": (_ModelParams,),
    "context_default_params": (_ContextParams,),
    "model_load_from_file": (_at, _text, _ModelParams),
    "model_free": (None, _at),
    "model_n_ctx_train": (_int, _at),
    "model_chat_template": (_text, _at, _text),
    "model_get_vocab": (_at, _at),
    "init_from_model": (_at, _at, _ContextParams),
    "free": (None, _at),
    "set_abort_callback": (None, _at, _at, _at),
    "get_memory": (_at, _at),
    "memory_clear": (None, _at, _bool),
    "decode": (_int, _at, _Batch),
    "get_logits_ith": (c.POINTER(c.c_float), _at, _int),
    "vocab_n_tokens": (_int, _at),
    "vocab_bos": (_int, _at),
    "vocab_eos": (_int, _at),
    "vocab_get_add_bos": (_bool, _at),
    "vocab_is_eog": (_bool, _at, _int),
    "vocab_is_control": (_bool, _at, _int),
    "tokenize": (_int, _at, _text, _int, c.POINTER(_int), _int, _bool, _bool),
    "token_to_piece": (_int, _at, _int, _text, _int, _int, _bool),
    "chat_apply_template": (_int, _text, c.POINTER(_ChatMessage), c.c_size_t, _bool, _text, _int),
    "sampler_init_llg": (_at, _at, _text, _text),
    "sampler_apply": (None, _at, c.POINTER(_Candidates)),
    "sampler_accept": (None, _at, _int),
    "sampler_free": (None, _at),
}
# Declared in C++, by a file that llama.cpp shares among its tools: the name carries the types.
_CPP = {"sampler_init_llg": "_Z22llama_sampler_init_llgPK11llama_vocabPKcS3_"}
_LOG = c.CFUNCTYPE(None, c.c_int, c.c_char_p, c.c_void_p)
_PROGRESS = c.CFUNCTYPE(c.c_bool, c.c_float, c.c_void_p)


@cache
def _library() -> Any:
    """The functions above, as attributes without their prefix ``llama_``."""
    identity()
    _check_processor()
    with _patient_threads():
        import xllamacpp.xllamacpp as extension

    library = c.CDLL(extension.__file__)  # loaded already: this only finds it again

    class Functions:
        is_set = c.cast(c.CDLL(None).strlen, c.c_void_p)

    for name, (result, *arguments) in _FUNCTIONS.items():
        function = getattr(library, _CPP.get(name) or f"llama_{name}")
        function.restype, function.argtypes = result, arguments
        setattr(Functions, name, function)
    functions: Any = Functions
    for defaults, known in (
        (functions.model_default_params(), _MODEL_DEFAULTS),
        (functions.context_default_params(), _CONTEXT_DEFAULTS),
    ):
        fields = [pair.split("=") for pair in known.split()]
        if any(str(getattr(defaults, name)) != value for name, value in fields):
            raise ConfigError(
                f"xllamacpp {WHEEL} on {platform.platform()} lays its structures out in a way "
                "this binding does not know: the embedded judge cannot run here"
            )
    functions.backend_init()
    return functions


@contextmanager
def _patient_threads() -> Iterator[None]:
    """OpenMP threads that sleep while they wait, unless the user's environment says otherwise.

    By default they spin, and beside any other busy process a spinning thread holds the core that
    the one it waits for needs. Two threads on two cores, 250 tokens, Qwen2.5-Coder-0.5B:
    2.4 s spinning and 2.9 s asleep when alone, 8.7 s and 3.4 s beside other work.
    The library reads the environment once, as it is loaded; afterwards it is put back.
    """
    wanted = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "0"}
    added = {} if wanted.keys() & os.environ.keys() else wanted
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]


def _check_processor() -> None:
    """The wheel is compiled for processors since 2013; an older one would die of its first call."""
    cpuinfo = Path("/proc/cpuinfo")
    if platform.machine() != "x86_64" or not cpuinfo.exists():
        return
    flags = next((x for x in cpuinfo.read_text().splitlines() if x.startswith("flags")), "")
    if flags and (missing := {"avx2", "fma", "f16c", "bmi2"} - set(flags.split())):
        raise ConfigError(
            f"the embedded judge needs a processor with {', '.join(sorted(missing)).upper()}; "
            "judge with a model behind an API instead"
        )


def _check_memory(path: Path) -> None:
    """Weights that do not fit would end the process without a word, or crawl from the disk."""
    try:
        meminfo = Path("/proc/meminfo").read_text()
    except OSError:
        return
    known = dict(line.split(":") for line in meminfo.splitlines())
    free = int(known.get("MemAvailable", "0 kB").split()[0]) * 1024
    limit = Path("/sys/fs/cgroup/memory.max")
    if limit.exists() and (most := limit.read_text().strip()).isdigit():
        free = min(free, int(most))
    if free and (needed := path.stat().st_size) > free:
        raise ConfigError(
            f"{path}: the weights need {needed / 1e9:.1f} GB of memory and {free / 1e9:.1f} GB "
            "are free; a smaller model is local:qwen2.5-coder-0.5b"
        )


def cores() -> int:
    """How many threads are of use: the physical cores this process may run on, 8 at the most.

    Two hardware threads of one core share its multipliers, and beyond 8 the memory is the limit.
    """
    if sys.platform != "linux":
        return max(1, min(os.cpu_count() or 1, 8))
    allowed = os.sched_getaffinity(0)
    siblings = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
    paths = [Path(siblings.format(cpu)) for cpu in allowed]
    count = len({p.read_text() if p.exists() else str(p) for p in paths})
    try:  # a container may be allowed less time than it is shown cores
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        count = min(count, round(int(quota) / int(period)))
    except (OSError, ValueError):
        pass
    return max(1, min(count, 8))


class Llama:
    """A model with one slot. Nothing is kept between calls. Not for two threads at once."""

    def __init__(self, path: Path, *, context: int, threads: int | None, stop: Stop) -> None:
        """Load it. Raises ConfigError where it cannot be, with what the runtime said of it."""
        self._model = self._context = None
        check(path)
        _check_memory(path)
        self._c = _library()
        complaints: deque[str] = deque(maxlen=3)

        def log(level: int, line: bytes, _: object) -> None:
            if level >= 4 and (said := line.decode(errors="replace").strip()):  # errors
                complaints.append(said)

        def progress(_: float, __: object) -> bool:
            return not stop

        c_log, c_progress = _LOG(log), _PROGRESS(progress)

        def failed(what: str) -> ConfigError | Stopped:
            self.close()
            return Stopped() if stop else ConfigError(f"{path}: {what}: {'; '.join(complaints)}")

        # After loading nothing it says is of use, and a callback into Python must not outlive it:
        # ``abs`` takes the level and does nothing.
        self._c.log_set(c.cast(c_log, c.c_void_p), None)
        try:
            model = self._c.model_default_params()
            model.progress_callback = c.cast(c_progress, c.c_void_p)
            model.n_gpu_layers = 0
            self._model = self._c.model_load_from_file(os.fsencode(path), model)
            if not self._model:
                raise failed("not a model this runtime can load")
            if context > (trained := self._c.model_n_ctx_train(self._model)):
                raise failed(f"was trained on {trained} tokens, {context} are asked for")
            params = self._c.context_default_params()
            params.n_ctx, params.n_batch, params.n_ubatch = context, CHUNK, CHUNK
            params.n_threads = params.n_threads_batch = threads or cores()
            self._context = self._c.init_from_model(self._model, params)
            if not self._context:
                raise failed(f"no room for a context of {context} tokens")
        finally:
            self._c.log_set(c.cast(c.CDLL(None).abs, c.c_void_p), None)
        self._vocab = self._c.model_get_vocab(self._model)
        self.vocabulary: int = self._c.vocab_n_tokens(self._vocab)

    def close(self) -> None:
        """Give the memory back. Closing twice is closing once."""
        context, model, self._context, self._model = self._context, self._model, None, None
        if context:
            self._c.free(context)
        if model:
            self._c.model_free(model)

    __del__ = close

    def tokens(self, text: str, *, markers: bool = False) -> list[int]:
        """The text as tokens. Only with ``markers`` can "<|im_end|>" and its like end a turn."""
        data = text.encode()
        room = len(data) + 8  # never more tokens than bytes; some vocabularies put a blank first
        buffer = (c.c_int32 * room)()
        count = self._c.tokenize(self._vocab, data, len(data), buffer, room, False, markers)
        assert count >= 0, "a token is at least a byte"
        return buffer[:count]

    def start(self) -> list[int]:
        """The tokens this model expects before a text; often none."""
        adds = self._c.vocab_get_add_bos(self._vocab)
        return [self._c.vocab_bos(self._vocab)] if adds else []

    def void(self) -> int:
        """A token to stand before the first, where there is none to condition on."""
        begin = self._c.vocab_bos(self._vocab)
        return int(begin if begin >= 0 else self._c.vocab_eos(self._vocab))

    def piece(self, token: int) -> bytes:
        """The bytes of a token: not always whole characters."""
        buffer = c.create_string_buffer(256)
        length = self._c.token_to_piece(self._vocab, token, buffer, len(buffer), 0, True)
        return buffer.raw[: max(0, length)]

    def ends(self, token: int) -> bool:
        return bool(self._c.vocab_is_eog(self._vocab, token))

    def is_marker(self, token: int) -> bool:
        return bool(self._c.vocab_is_control(self._vocab, token)) or self.ends(token)

    def frame(self, roles: Sequence[str]) -> list[str] | None:
        """The chat template, rendered around texts it does not get to see.

        Returns what stands before, between and after the texts: one string more than there are
        roles. None where the template has no place for one of the roles.
        Raises ConfigError where the model has no template, or one the runtime does not know.
        """
        template = self._c.model_chat_template(self._model, None)
        if template is None:
            raise ConfigError("the model has no chat template: it is a base model, not a judge")
        holes = [f"TEXT-{number}-HERE" for number in range(len(roles))]
        chat = (_ChatMessage * len(roles))(
            *map(_ChatMessage, (role.encode() for role in roles), (h.encode() for h in holes))
        )
        buffer = c.create_string_buffer(4096 + 256 * len(roles))
        size = len(buffer)
        length = self._c.chat_apply_template(template, chat, len(roles), True, buffer, size)
        if not 0 <= length <= size:
            raise ConfigError("the model's chat template is not one this runtime knows")
        rest = buffer.raw[:length].decode()
        frame = []
        for hole in holes:
            before, found, rest = rest.partition(hole)
            if not found:
                return None
            frame.append(before)
        return [*frame, rest]

    def begin(self, stop: Stop) -> None:
        """Forget everything, so that what came before cannot show in the last bits of an answer."""
        self._c.memory_clear(self._c.get_memory(self._context), True)
        self._c.set_abort_callback(self._context, self._c.is_set, c.addressof(stop.buffer))
        self._stop = stop  # keeps the flag alive as long as C may read it

    def read(self, tokens: Sequence[int], rows: int = 1) -> Iterator[NDArray[np.float32]]:
        """Read on; yield the logits, shape (vocabulary,), after each of the last ``rows`` tokens.

        Raises Stopped within a fraction of a second of the flag given to ``begin`` being set.
        """
        first, position = len(tokens) - rows, 0
        while position < len(tokens):
            end = min(position + CHUNK, max(first, position) + ROWS, len(tokens))
            count = end - position
            ids = (c.c_int32 * count)(*tokens[position:end])
            wanted = (c.c_int8 * count)(*(at >= first for at in range(position, end)))
            code = self._c.decode(self._context, _Batch(count, ids, None, None, None, None, wanted))
            if self._stop:
                raise Stopped
            if code:
                raise ProviderError(f"the model could not read on (llama_decode returned {code})")
            for row in range(max(first, position), end):
                logits = self._c.get_logits_ith(self._context, row - position)
                yield np.ctypeslib.as_array(logits, (self.vocabulary,)).copy()
            position = end

    def grammar(self, schema: dict[str, Any]) -> "Grammar":
        """What holds a reply to a JSON schema. Raises ConfigError where the schema is none."""
        import msgspec

        sampler = self._c.sampler_init_llg(self._vocab, b"json", msgspec.json.encode(schema))
        grammar = Grammar(self._c, sampler)
        # A schema that cannot be read would let every token pass, the end of the reply included.
        if not np.isinf(grammar.allow(np.zeros(self.vocabulary, np.float32))).any():
            grammar.close()
            raise ConfigError("the schema of the reply is not one this runtime can enforce")
        return grammar


class Grammar:
    """Which tokens may come next. Close it when the reply is complete."""

    def __init__(self, functions: Any, sampler: int) -> None:
        self._c, self._sampler = functions, sampler

    def allow(self, logits: NDArray[np.float32]) -> NDArray[np.float32]:
        """The logits, with minus infinity where a token would break the schema."""
        candidates = np.zeros(len(logits), _CANDIDATE)
        candidates["id"], candidates["logit"] = np.arange(len(logits)), logits
        self._c.sampler_apply(
            self._sampler, c.byref(_Candidates(candidates.ctypes.data, len(logits), -1, False))
        )
        allowed = candidates["logit"].copy()
        if allowed.max() == -np.inf:  # no word of the vocabulary can go on from here
            raise Malformed("the reply ran into a dead end of its schema")
        return allowed

    def accept(self, token: int) -> None:
        self._c.sampler_accept(self._sampler, token)

    def close(self) -> None:
        self._c.sampler_free(self._sampler)


def check(path: Path) -> None:
    """Raise ConfigError unless there is a file that begins as a GGUF file does. Cheap."""
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}") from None
    if magic != b"GGUF":
        raise ConfigError(f"{path}: not a GGUF model file")
