"""A user's own flags are read as the engine reads them: by its parser, not by their looks."""

import argparse
import contextlib
import io
from collections.abc import Sequence
from typing import NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.api.owned import DISTRIBUTED_ARGUMENTS, OWNED_ARGUMENTS
from app.modeldeployment.engines import ENGINES, Flags, Key

# Flags of the engines that are not ours to judge, and begin like one that is, or contain one.
_BOTH = ["--kv-cache-dtype-skip-layers", "--quantization-config", "--model-impl", "--ssl-keyfile-password", "--help"]
OTHERS = {
    "vLLM": [
        *_BOTH,
        "--data-parallel-address",
        "-dpa",
        "--data-parallel-rpc-port",
        "-dpp",
        "-dpr",
        "-dcp",
        "-pcp",
        "-asc",
        "--enable-eplb",
    ],
    "SGLang": [*_BOTH, "--ep-num-redundant-experts", "--hicache-storage-prefetch-policy", "--context-window"],
}


def read(engine: str, *arguments: str) -> Flags:
    return ENGINES[engine].grammar.read(arguments)


@pytest.mark.parametrize(
    ("engine", "arguments", "key", "value"),
    [
        ("vLLM", ["--port", "9000"], Key.PORT, "9000"),
        ("vLLM", ["--port=9000"], Key.PORT, "9000"),
        ("vLLM", ["--por", "9000"], Key.PORT, "9000"),
        ("vLLM", ["--port", "1", "--port=2"], Key.PORT, "2"),
        ("vLLM", ["--port"], Key.PORT, None),
        ("vLLM", ["--port", "--host", "::"], Key.PORT, None),
        ("vLLM", ["--port="], Key.PORT, ""),
        ("vLLM", ["--max_model_len", "-1"], Key.CONTEXT_LENGTH, "-1"),
        ("vLLM", ["--max_model-len=8192"], Key.CONTEXT_LENGTH, "8192"),
        ("vLLM", ["--kv_transfer_config.kv_role", "kv_both"], "--kv-transfer-config", "kv_both"),
        ("vLLM", ["--kv-tr.kv_connector=X"], "--kv-transfer-config", "X"),
        ("vLLM", ["--kv-transfer-config", '{"a": "b --port 1"}'], "--kv-transfer-config", '{"a": "b --port 1"}'),
        ("vLLM", ["-tp", "2"], Key.TENSOR, "2"),
        ("vLLM", ["-tp=2"], Key.TENSOR, "2"),
        ("vLLM", ["-t", "2"], Key.TENSOR, "2"),
        ("vLLM", ["-dpl", "2"], Key.DATA_LOCAL, "2"),
        ("vLLM", ["--data_parallel_rank=1"], Key.DATA_RANK, "1"),
        ("vLLM", ["-q", "fp8"], Key.QUANTIZATION, "fp8"),
        ("vLLM", ["-qfp8"], Key.QUANTIZATION, "fp8"),
        ("vLLM", ["-n2"], "--nnodes", "2"),
        ("vLLM", ["-r", "1"], "--node-rank", "1"),
        ("vLLM", ["-ep"], Key.EXPERT, None),
        ("vLLM", ["--no-enable-expert-parallel"], Key.EXPERT, None),
        ("SGLang", ["--tp", "8"], Key.TENSOR, "8"),
        ("SGLang", ["--tensor-parallel-size=8"], Key.TENSOR, "8"),
        ("SGLang", ["--ep", "8"], Key.EXPERT, "8"),
        ("SGLang", ["--model", "x"], Key.MODEL, "x"),
        ("SGLang", ["--nccl-init-addr", "x:1"], "--dist-init-addr", "x:1"),
        ("SGLang", ["--ssl-cert", "/tls/crt"], Key.CERTIFICATE, "/tls/crt"),
        ("SGLang", ["--ssl-cert-reqs", "2"], Key.CLIENT_CERTIFICATE, "2"),
        ("SGLang", ["--hicache-storage-backend-extra", "{}"], "--hicache-storage-backend-extra-config", "{}"),
    ],
)
def test_a_setting_is_found_however_the_engine_lets_it_be_spelled(
    engine: str, arguments: list[str], key: str, value: str | None
) -> None:
    flags = read(engine, *arguments)
    assert key in flags
    assert flags.value(key) == value


@pytest.mark.parametrize(("engine", "flag"), [(engine, flag) for engine, flags in OTHERS.items() for flag in flags])
def test_another_flag_that_only_looks_like_ours_is_left_to_the_engine(engine: str, flag: str) -> None:
    assert not read(engine, flag, "1").found


@pytest.mark.parametrize(
    ("engine", "argument"),
    [
        ("vLLM", "--"),
        ("vLLM", "-"),
        ("vLLM", "port"),
        ("vLLM", "-1"),
        ("vLLM", "-.5"),
        ("vLLM", "--port 9000"),
        ("SGLang", "--tp_size"),
        ("SGLang", "--tp.size"),
        ("SGLang", "-tp"),
    ],
)
def test_what_the_engine_takes_for_no_flag_of_ours_is_none(engine: str, argument: str) -> None:
    flags = read(engine, argument, "1")
    assert not flags.found
    assert not flags.ambiguous


def test_a_beginning_of_two_flags_is_told_apart_from_either() -> None:
    flags = read("vLLM", "--ssl-cert", "x", "--port", "1")
    assert flags.ambiguous == (("--ssl-cert", ("--ssl-certfile", "--ssl-cert-reqs")),)
    assert set(flags.found) == {Key.PORT}


@pytest.mark.parametrize("engine", ENGINES)
def test_every_owned_flag_is_one_that_the_reader_knows(engine: str) -> None:
    for flag in OWNED_ARGUMENTS[engine] | DISTRIBUTED_ARGUMENTS[engine]:
        (key,) = read(engine, flag, "x").found
        assert key in OWNED_ARGUMENTS[engine] | DISTRIBUTED_ARGUMENTS[engine]


def _known(engine: str) -> dict[str, str]:
    """The engine's own flags that we read: SGLang itself has no --ssl-cert-reqs."""
    exact = ENGINES[engine].grammar.exact
    return {spelling: key for spelling, key in exact.items() if engine == "vLLM" or key != Key.CLIENT_CERTIFICATE}


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise argparse.ArgumentError(None, message)


def _parser(engine: str) -> argparse.ArgumentParser:
    """A parser with the engine's flags as far as we know them, with one value or none each."""
    parser = _Parser(add_help=False)
    by_key: dict[str, list[str]] = {}
    for spelling, key in _known(engine).items():
        by_key.setdefault(key, []).append(spelling)
    for key, spellings in by_key.items():
        parser.add_argument(*spellings, dest=key, nargs="?", const="", default=None)
    for index, flag in enumerate(OTHERS[engine]):
        parser.add_argument(flag, dest=f"other {index}", nargs="?")
    return parser


def _spelled(engine: str) -> st.SearchStrategy[list[str]]:
    names = [*_known(engine), *OTHERS[engine]]
    shortened = st.sampled_from(names).flatmap(
        lambda name: st.integers(min(3, len(name)), len(name)).map(lambda end: name[:end])
    )
    value = st.sampled_from(["1", "-1", "fp8", "a b", "{}", ""])
    item = st.one_of(
        shortened.map(lambda name: [name]),
        st.tuples(shortened, value).map(list),
        # (argparse takes `-d=a b` for a sentence, where `-d` is the beginning of a short flag.)
        st.tuples(shortened, value.filter(lambda text: " " not in text)).map(lambda pair: [f"{pair[0]}={pair[1]}"]),
    )
    return st.lists(item, max_size=6).map(lambda items: [argument for item in items for argument in item])


@pytest.mark.parametrize("engine", ENGINES)
@given(data=st.data())
def test_where_argparse_understands_a_line_we_understand_the_same(engine: str, data: st.DataObject) -> None:
    arguments: Sequence[str] = data.draw(_spelled(engine))
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            parsed = vars(_parser(engine).parse_args(arguments))
    except argparse.ArgumentError:
        return
    flags = read(engine, *arguments)
    assert not flags.ambiguous
    for key in set(_known(engine).values()):
        assert parsed[key] == ((flags.value(key) or "") if key in flags else None), key
