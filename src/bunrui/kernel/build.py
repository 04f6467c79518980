"""Compile all kernels into one library, which is called without numba.

    python -m bunrui.kernel.build            for this machine
    python -m bunrui.kernel.build v2 v3      for these processors (x86-64-v2, x86-64-v3), as a wheel wants them

Each variant is compiled in processes of its own, because numba optimises for the processor that it finds, or that
`NUMBA_CPU_NAME` names, when it is imported.  A library carries the digest of the sources that it is made of.
"""
# mypy: ignore-errors

from __future__ import annotations

import hashlib
import multiprocessing
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import FunctionType
from typing import Any

from bunrui.kernel import primitives
from bunrui.kernel.library import FOLDER, LIBRARY, digest_of_sources, symbol_of
from bunrui.kernel.signature import Argument, fields_of, signature_of

PROCESSORS = {"v2": "x86-64-v2", "v3": "x86-64-v3"}
HOST = "host"  # the variant of other processors
_TOOLS = ("__init__", "build", "compile", "library", "signature")

# The library has its digest and its variants.  The builtins ask the processor; v3 has more parts than these, but no
# processor has only these.
_ABOUT = """
const char bunrui_digest[] = "{digest}";
const char bunrui_variants[] = "{variants}";
int bunrui_runs_v3(void) {{
#ifdef __x86_64__
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
#else
    return 0;
#endif
}}
"""


class BuildError(Exception):
    """The library cannot be built here."""


def build(variants: Sequence[str]) -> None:
    """Build the library, unless the one that is there holds these variants of the same sources."""
    variants = variants or [_own_variant()]
    digest = digest_of_sources()
    if _is_there(digest, variants):
        return
    LIBRARY.unlink(missing_ok=True)  # nothing runs with it
    linker = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if linker is None:
        raise BuildError("there is no C compiler here (cc, gcc or clang) to link the kernels with")
    start = time.perf_counter()
    _tell(f"compiling the kernels for {', '.join(variants)}")
    objects = [path for variant in variants for path in _compile(variant)]
    with tempfile.TemporaryDirectory() as folder:
        about = Path(folder) / "about.c"
        about.write_text(_ABOUT.format(digest=digest, variants=" ".join(variants)))
        unfinished = LIBRARY.with_suffix(f".{os.getpid()}")
        try:
            _link(linker, unfinished, [about, *objects])
            unfinished.replace(LIBRARY)
        finally:
            unfinished.unlink(missing_ok=True)
    size = LIBRARY.stat().st_size / 1e6
    _tell(f"compiled {len(objects)} kernels in {time.perf_counter() - start:.0f} s, {size:.1f} MB")


def _tell(what: str) -> None:
    sys.stderr.write(f"bunrui: {what}\n")
    sys.stderr.flush()


def _own_variant() -> str:
    import llvmlite.binding as llvm

    if platform.machine() not in ("x86_64", "AMD64"):
        return HOST
    features = llvm.get_host_cpu_features()
    return "v3" if all(features.get(name) for name in ("avx2", "bmi2", "fma")) else "v2"


def _is_there(digest: str, variants: Sequence[str]) -> bool:
    """Tell whether the library that is there will do; its bytes are read, because a library that is loaded stays."""
    if not LIBRARY.exists():
        return False
    content = LIBRARY.read_bytes()
    return digest.encode() + b"\0" in content and b"\0" + " ".join(variants).encode() + b"\0" in content


def _link(linker: str, out: Path, parts: Sequence[Path]) -> None:
    command = [linker, "-shared", "-fPIC", "-O2", "-o", str(out), *map(str, parts), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"{linker} cannot link the kernels: {done.stderr.strip() or done.returncode}")


def _compile(variant: str) -> list[Path]:
    """Object files of all kernels for a variant: those that are there, and the others compiled now."""
    objects = {kernel: _object_of(kernel, variant) for kernel in all_kernels()}
    missing = {kernel: path for kernel, path in objects.items() if not path.exists()}
    for path in missing.values():
        path.parent.mkdir(exist_ok=True)
        for old in path.parent.glob(f"{path.stem.rpartition('-')[0]}-*.o"):
            old.unlink()
    if variant in PROCESSORS:
        os.environ.update(NUMBA_CPU_NAME=PROCESSORS[variant], NUMBA_CPU_FEATURES="")
    n_processes = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    # Those that call the most first: one that takes long should not be the last.
    order = sorted(missing, key=lambda kernel: -len(_parts(kernel)))
    tasks = [(kernel.__module__, kernel.__name__, variant, missing[kernel]) for kernel in order]
    if tasks:
        with multiprocessing.get_context("spawn").Pool(min(n_processes, len(tasks))) as pool:
            pool.starmap(compile_kernel, tasks, chunksize=1)
    return list(objects.values())


def _object_of(kernel: Any, variant: str) -> Path:
    """Where the object file of a kernel lies: its name has a digest of all that it is made of."""
    tools = [(FOLDER / f"{name}.py").read_text() for name in ("compile", "build", "primitives")]
    made_of = [sys.version, version("numba"), version("llvmlite"), *tools, *_parts(kernel)]
    digest = hashlib.sha256("\0".join(made_of).encode()).hexdigest()[:16]
    return FOLDER / "__pycache__" / f"{symbol_of(kernel, variant)}-{digest}.o"


def _parts(function: FunctionType, seen: dict[Any, str] | None = None) -> list[str]:
    """The code of a function and of all that it calls, and the constants and records that they use."""
    seen = {} if seen is None else seen
    code = function.__code__
    # The code has numbers in place of names: those of attributes are in `co_names` alone.
    seen[function] = f"{code.co_code} {code.co_consts} {code.co_names} {function.__dict__} {_types(function)}"
    for name in code.co_names:
        value = function.__globals__.get(name)
        if isinstance(value, FunctionType) and value.__module__.startswith("bunrui.kernel"):
            if value not in seen and value.__module__ != primitives.__name__:
                _parts(value, seen)
        elif isinstance(value, (int, float)):
            seen[name, function] = repr(value)
        elif hasattr(value, "_fields"):
            seen[name, function] = repr(value._fields)
    return list(seen.values())


def _types(function: FunctionType) -> str:
    """The types of a kernel, with the names and types of the fields of its records; nothing for other functions."""

    def spell(arguments: tuple[Argument, ...]) -> str:
        return " ".join(f"{a[:4]} {spell(fields_of(a.record)) if a.record else ''}" for a in arguments)

    if not getattr(function, "is_kernel", False):
        return ""
    arguments, result = signature_of(function)
    return spell(arguments) + result


def all_kernels() -> list[Any]:
    """Every function that is marked as a kernel."""
    found = []
    for path in sorted(FOLDER.glob("*.py")):
        if path.stem not in _TOOLS:
            module = import_module(f"bunrui.kernel.{path.stem}")
            mine = [value for value in vars(module).values() if getattr(value, "__module__", "") == module.__name__]
            found += [value for value in mine if getattr(value, "is_kernel", False)]
    return found


def compile_kernel(module: str, name: str, variant: str, out: Path) -> None:
    """Compile one kernel to an object file with one function of the name that `symbol_of` gives."""
    import llvmlite.binding as llvm
    import numba

    kernel = getattr(import_module(module), name)
    entry = numba.njit(nogil=True, error_model="numpy", _nrt=False)(_entry(kernel))
    entry.compile((numba.uint64,))
    (overload,) = entry.overloads.values()
    code = llvm.parse_assembly(overload.library.get_llvm_str())
    symbol = symbol_of(kernel, variant)
    for item in [*code.functions, *code.global_variables]:
        if item.name == overload.fndesc.llvm_func_name:
            item.name = symbol
        elif not item.is_declaration:
            item.linkage = "internal"
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    processor = PROCESSORS.get(variant) or llvm.get_host_cpu_name()
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(cpu=processor, opt=3, reloc="pic", codemodel="default")
    # numba has optimised the code; this only removes functions that were inlined, .4 of 77 s.
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(code, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3)))
    unfinished = out.with_suffix(".unfinished")
    unfinished.write_bytes(machine.emit_object(code))
    unfinished.replace(out)


def _entry(kernel: Any) -> Any:
    """A function of one address: it reads the arguments of the kernel there, and calls it."""
    from numba import types

    from bunrui.kernel.compile import arguments_at, i64, numba_type, twin_of

    arguments, codes = signature_of(kernel)
    call, kinds = twin_of(kernel), types.Tuple([numba_type(argument) for argument in arguments])

    def nothing(p):
        call(*arguments_at(p, kinds))

    def whole(p):
        return i64(call(*arguments_at(p, kinds)))

    def real(p):
        return float(call(*arguments_at(p, kinds)))

    def pair(p):
        first, second = call(*arguments_at(p, kinds))
        return i64(first), i64(second)

    return {"": nothing, "q": whole, "d": real, "qq": pair}[codes]


def main() -> None:
    """Build the variants that the command line names."""
    try:
        build(sys.argv[1:])
    except BuildError as error:
        raise SystemExit(f"bunrui: {error}") from None


if __name__ == "__main__":
    main()
