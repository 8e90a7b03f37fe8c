"""The wheel of jax-tessera, with all libraries that it needs: `scripts/package jax-wheel`."""
import shutil

from common import here, install, run
from wheels import licences, pack, report

FOLDER = here / "build/wheel"


def build_library(build, jobs):
    if not (build / "build.ninja").exists():
        run("cmake", "-S", here, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG",
            "-DTESSERA_PRECOMPILED_HEADERS=ON", "-DTESSERA_UNITY=ON", "-DTESSERA_BUILD_TESTS=OFF", "-DTESSERA_BUILD_EXAMPLES=OFF")
    run("cmake", "--build", build, *(["-j", jobs] if jobs else []), "--target", "tessera_pjrt_wheel")


def make(build, jobs, only_package):
    """Builds the wheel in build/wheel/dist and gives its path; with `only_package`, out of the library of an earlier run."""
    install("build_packages", "wheel_packages")
    FOLDER.mkdir(parents=True, exist_ok=True)
    if not only_package:
        build_library(build, jobs)
    stage = FOLDER / "stage"
    shutil.rmtree(stage, ignore_errors=True)
    shutil.copytree(here / "python", stage, ignore=shutil.ignore_patterns("__pycache__", "CMakeLists.txt", "*.cc"))
    inside = stage / "jax_tessera/libtessera_pjrt.so"
    run("strip", "--strip-unneeded", "-o", inside, build / "wheel/libtessera_pjrt.so")
    licences(inside, stage / "licences")
    wheel = pack(stage, FOLDER)
    report(wheel)
    return wheel
