"""The part of a wheel that CMake builds: the extension, and where it looks for them the machine profiles and the page."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class CMakeExtension(build_ext):
    def build_extension(self, extension):
        build = pathlib.Path(os.environ.get("WEFT_BUILD", pathlib.Path(self.build_temp).resolve()))
        if "WEFT_BUILD" not in os.environ:
            options = ["-DCMAKE_BUILD_TYPE=Release", "-DWEFT_PYTHON=ON", "-DWEFT_CUDA=OFF", "-DBUILD_TESTING=OFF"]
            subprocess.run(["cmake", "-S", ROOT, "-B", build, f"-DPython_EXECUTABLE={sys.executable}", *options], check=True)
            subprocess.run(["cmake", "--build", build, "--target", "weft_python", "--parallel"], check=True)
        place = pathlib.Path(self.get_ext_fullpath(extension.name))
        place.parent.mkdir(parents=True, exist_ok=True)
        (built,) = (build / "python/weft").glob("_weft.*.so")
        shutil.copy(built, place)
        machines = place.parent / "share/weft/machines"
        for folder in (ROOT / "calibration/machines", build / "share/weft/machines"):
            shutil.copytree(folder, machines, dirs_exist_ok=True)
        for page in (build / "share/weft").glob("report.html"):  # where the build could make it
            shutil.copy(page, machines.parent)


def version():
    return re.search(r"project\(weft VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


setup(version=version(), ext_modules=[Extension("weft._weft", [])], cmdclass={"build_ext": CMakeExtension})
