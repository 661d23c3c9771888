"""The library inside the module, and a wheel for this kind of machine and any Python."""

import os
import pathlib
import re
import shutil
import subprocess

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.dist import Distribution

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # before setuptools 70
    from wheel.bdist_wheel import bdist_wheel

root = pathlib.Path(__file__).resolve().parent
version = re.search(r"project\(sgdsim VERSION ([0-9.]+)", (root / "CMakeLists.txt").read_text()).group(1)


def library():
    """Built where it is not at hand: SGDSIM_LIBRARY names one, ./run build makes one."""
    given = os.environ.get("SGDSIM_LIBRARY")
    built = pathlib.Path(given) if given else root / "build/release/lib/libsgdsim.so"
    if not built.exists():
        subprocess.run(["cmake", "--preset", "release"], cwd=root, check=True)
        subprocess.run(["cmake", "--build", "--preset", "release", "--target", "sgdsim_library"], cwd=root, check=True)
    return built


class WithLibrary(build_py):
    def run(self):
        super().run()
        folder = pathlib.Path(self.build_lib) / "sgdsim"
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(library(), folder / "libsgdsim.so")


class ForAnyPython(bdist_wheel):
    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


class NotPure(Distribution):
    def has_ext_modules(self):
        return True


setup(version=version, distclass=NotPure, cmdclass={"build_py": WithLibrary, "bdist_wheel": ForAnyPython})
