"""The library of compiled kernels: how it is called, built and chosen, and what happens where there is none."""

from __future__ import annotations

import os
import pickle
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bunrui.kernel import build
from bunrui.kernel.arithmetic import log
from bunrui.kernel.library import FOLDER, LIBRARY, entry_of, run, symbol_of
from bunrui.kernel.postings import close_holes
from bunrui.kernel.rows import Csr, count_columns
from bunrui.kernel.signature import Argument, packer
from bunrui.kernel.vocabulary import move_slots
from bunrui.kernel.workspace import new_vocabulary
from tests.support.waiting import PATIENCE

needs_library = pytest.mark.skipif(not LIBRARY.exists(), reason="no library could be built here")


def python(folder: Path, program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program with the sources in a folder."""
    names = {**os.environ, "PYTHONPATH": str(folder), **environment}
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, env=names, check=False, timeout=PATIENCE)


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A copy of the sources, with the library and the object files that it is made of."""
    shutil.copytree(FOLDER.parent, tmp_path / "bunrui", ignore=shutil.ignore_patterns("*.nbi", "*.nbc", "*.pyc"))
    return tmp_path


# Calls


def test_the_compiler_is_never_imported() -> None:
    program = """
import sys
from bunrui import TextClassifier
clf = TextClassifier().learn(["good day " * 40_000, "bad night"], ["x", "y"])
print(clf.predict(["good night"]), clf.counts.totals()["good"], "numba" in sys.modules)
"""
    done = python(FOLDER.parents[1], program)
    assert (done.stdout, done.stderr) == ("['y'] (40000, 1) False\n", "")


@needs_library
def test_a_kernel_gets_what_its_signature_says() -> None:
    indices, columns = np.array([0, 1, 1], np.int32), np.array([1, 0], np.int32)
    ends = np.zeros(2, np.int64)
    assert run(count_columns, indices, columns, ends) == 3
    assert ends.tolist() == [0, 2]


ARRAYS: dict[str, Any] = {
    "whole": np.arange(4),
    "slice": np.arange(9)[2:5],
    "empty": np.arange(0),
    "of bytes": np.frombuffer(bytes(24), np.int64),
    "subclass": np.arange(3).view(np.recarray),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_the_packed_address_is_that_of_the_data(name: str) -> None:
    array = ARRAYS[name]
    words = packer((Argument("array", "Qq", array.dtype),))([array])
    assert struct.unpack("=Qq", words) == (array.ctypes.data, array.size)


WRONG: dict[str, Any] = {
    "another type": lambda array: array.astype(np.int32),
    "two dimensions": lambda array: array.reshape(1, -1),
    "gaps": lambda array: np.repeat(array, 2)[::2],
    "the other byte order": lambda array: array.astype(">i8"),
}


@needs_library
@pytest.mark.parametrize("wrong", WRONG)
def test_an_array_that_does_not_fit_is_refused(wrong: str) -> None:
    indices = columns = np.zeros(2, np.int32)
    with pytest.raises(TypeError, match="ends should be a contiguous array of int64"):
        run(count_columns, indices, columns, WRONG[wrong](np.zeros(2, np.int64)))


@needs_library
def test_an_array_that_cannot_be_written_is_refused() -> None:
    ends = np.zeros(2, np.int64)
    ends.flags.writeable = False
    with pytest.raises(TypeError, match="that can be written"):
        run(count_columns, np.zeros(1, np.int32), np.zeros(1, np.int32), ends)


@needs_library
def test_another_record_is_refused() -> None:
    with pytest.raises(TypeError, match=r"v should be .*Vocabulary"):
        run(move_slots, np.zeros(4, np.uint64), Csr(*(np.zeros(1, np.int64),) * 3))
    with pytest.raises(ValueError):
        run(close_holes)


@needs_library
def test_addresses_stay_where_their_arrays_are() -> None:
    v = new_vocabulary(10, 100)
    run(move_slots, v.slots, v._replace(slots=np.zeros_like(v.slots)))
    assert "block" not in v.__dict__  # it was not an argument; what `_replace` made has its own
    other = v._replace()
    run(move_slots, np.zeros(0, np.uint64), other)
    assert "block" in other.__dict__
    copy = pickle.loads(pickle.dumps(other))
    assert "block" not in copy.__dict__
    assert [a.tobytes() for a in copy] == [a.tobytes() for a in other]


def test_every_call_has_a_kernel() -> None:
    """What the package runs is marked, and what is marked is compiled."""
    kernels = build.all_kernels()
    assert len({symbol_of(kernel, "v3") for kernel in kernels}) == len(kernels) > 40
    for kernel in kernels:
        entry_of(kernel)


# Building


@needs_library
def test_no_multiply_is_joined_with_an_addition() -> None:
    """A fused multiply-add rounds once where two instructions round twice: variants would differ in the last bit."""
    tool = shutil.which("objdump")
    if tool is None:
        pytest.skip("objdump is not installed")
    code = subprocess.run([tool, "-d", LIBRARY], capture_output=True, text=True, check=True, timeout=PATIENCE).stdout
    assert "vmulsd" in code or "mulsd" in code
    assert [line for line in code.splitlines() if "vfmadd" in line or "vfnmadd" in line or "vfmsub" in line] == []


def change(sources: Path) -> None:
    with (sources / "bunrui" / "kernel" / "arithmetic.py").open("a") as file:
        file.write("# changed\n")


KERNEL = """
from typing import NamedTuple
from bunrui.kernel.signature import I64s, Read, kernel, record

@record
class Pair(NamedTuple):
    low: I64s
    high: I64s

@kernel
def first(pair: Pair) -> int:
    return pair.low[0]
"""


def object_of(source: str) -> Path:
    scope: dict[str, Any] = {"__name__": "bunrui.kernel.tried"}
    exec(compile(source, "tried.py", "exec", dont_inherit=True), scope)  # its annotations are types, not strings
    return build._object_of(scope["first"], "v3")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("low: I64s\n    high: I64s", "high: I64s\n    low: I64s"),
        ("pair.low[0]", "pair.high[0]"),
        ("low: I64s\n", "low: Read[I64s]\n"),
        ("-> int", "-> float"),
    ],
)
def test_an_object_file_is_of_one_code_and_of_its_types(old: str, new: str) -> None:
    assert object_of(KERNEL) == object_of(KERNEL + "# changed")
    assert object_of(KERNEL) != object_of(KERNEL.replace(old, new))


@needs_library
def test_changed_sources_want_a_new_library(sources: Path) -> None:
    change(sources)
    done = python(sources, "from bunrui import TextClassifier; TextClassifier().learn(['a'], ['x'])")
    assert done.stderr.splitlines()[-1].endswith(
        "the kernels have changed since they were compiled; make test compiles them"
    )


@pytest.mark.slow  # 95 s of processor time; `make` compiles them too, before any test
@needs_library
def test_changed_sources_are_compiled_anew(sources: Path) -> None:
    change(sources)
    again = subprocess.run(
        [sys.executable, "-m", "bunrui.kernel.build"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(sources)},
        check=False,
    )
    assert again.returncode == 0, again.stderr
    done = python(sources, "from bunrui import TextClassifier; print(TextClassifier().learn(['a'], ['x']).classes_)")
    assert done.stdout == "['x']\n", done.stderr


def test_without_a_linker(sources: Path, tmp_path: Path) -> None:
    (sources / "bunrui" / "kernel" / LIBRARY.name).unlink(missing_ok=True)
    program = "from bunrui.kernel import build\ntry: build.build([])\nexcept build.BuildError as e: print(e)"
    done = python(sources, program, PATH=str(tmp_path), CC="")
    assert done.stdout == "there is no C compiler here (cc, gcc or clang) to link the kernels with\n", done.stderr


def test_without_a_library_numba_compiles(sources: Path) -> None:
    (sources / "bunrui" / "kernel" / LIBRARY.name).unlink(missing_ok=True)
    program = "import numpy as np; from bunrui.kernel.arithmetic import log; print(log(np.arange(1, 100)).sum())"
    done = python(sources, program)
    assert float(done.stdout) == log(np.arange(1, 100)).sum()
    assert done.stderr.count("numba compiles them now") == 1


def test_without_library_and_numba_both_remedies_are_named(sources: Path) -> None:
    (sources / "bunrui" / "kernel" / LIBRARY.name).unlink(missing_ok=True)
    program = """
import sys
sys.modules["numba"] = None
from bunrui import TextClassifier
clf = TextClassifier()
try:
    clf.learn(["a"], ["x"])
except Exception as error:
    print(type(error).__name__, error)
"""
    done = python(sources, program)
    assert done.stdout.startswith("KernelError ") and done.stderr == ""
    assert "pip install 'bunrui[jit]'" in done.stdout and "a C compiler" in done.stdout


@pytest.mark.slow
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="variants are for x86-64")
def test_variants_give_the_same_bits(sources: Path) -> None:
    command = [sys.executable, "-m", "bunrui.kernel.build", "v2", "v3"]
    subprocess.run(command, env={**os.environ, "PYTHONPATH": str(sources)}, check=True)
    program = """
import hashlib
from bunrui import TextClassifier
from bunrui.data import read
texts, labels = zip(*((row["text"], row["label"]) for row in read("demo")))
for model in ("multinomial", "bernoulli", "complement", "wcnb", "binary-complement", "nbsvm", "arow", "aode"):
    print(model, hashlib.sha256(TextClassifier(model).learn(texts, labels).scores(texts).tobytes()).hexdigest())
"""
    old, new = (python(sources, program, BUNRUI_KERNELS=variant) for variant in ("v2", "v3"))
    assert old.stdout == new.stdout and len(old.stdout.splitlines()) == 8, old.stderr
    wrong = python(sources, program, BUNRUI_KERNELS="v9")
    assert "BUNRUI_KERNELS should be one of v3, v2 here, not 'v9'" in wrong.stderr
