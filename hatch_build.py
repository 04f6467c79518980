"""Compile the kernels when a wheel, or an editable installation, is built.

`BUNRUI_VARIANTS=v2,v3` builds the variants that a wheel for other machines holds; without it, the one of this machine.
"""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompileKernels(BuildHookInterface):
    """Put the library of the kernels into the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the library; without a linker, the wheel goes without, and numba compiles at run time."""
        if self.target_name != "wheel":
            return
        source = Path(self.root) / "src"
        variants = os.environ.get("BUNRUI_VARIANTS", "").replace(",", " ").split()
        # Not by PYTHONPATH: pip takes the folder away from it where an editable installation has named it.
        program = f"import sys; sys.path.insert(0, {str(source)!r}); from bunrui.kernel.build import main; main()"
        done = subprocess.run([sys.executable, "-c", program, *variants], check=False)
        if done.returncode:
            if variants:
                raise RuntimeError("the kernels cannot be compiled")
            self.app.display_warning("bunrui is installed without compiled kernels: install bunrui[jit] too")
            return
        library = "bunrui/kernel/_kernels.so"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
        build_data["force_include"][str(source / library)] = library
