"""The wheel of the C++ library: `scripts/package wheel`. It has headers, the library with all libraries that it needs, the CMake package
and the command."""
import re
import shutil

from common import here, install, logged, out, run, version
from wheels import licences, pack, report

FOLDER = out / "wheel"


def build_library(build, jobs, options):
    """Builds the library, and the command beside it. The build folder may be that of the Debian packages; only what is linked differs."""
    flags = ["-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG", f"-DCMAKE_CXX_FLAGS=-ffile-prefix-map={here}=.",
             "-DBUILD_SHARED_LIBS=ON", "-DTESSERA_LLVM_ARCHIVES=ON", "-DTESSERA_PRECOMPILED_HEADERS=ON", "-DTESSERA_UNITY=ON",
             "-DTESSERA_BUILD_TESTS=OFF", "-DTESSERA_BUILD_EXAMPLES=OFF", "-DCMAKE_INSTALL_PREFIX=/usr", "-DCMAKE_INSTALL_LIBDIR=lib",
             "-DTESSERA_PLUGIN_DIR=lib/tessera", "-DCMAKE_SKIP_INSTALL_RPATH=OFF"]
    logged(FOLDER / "build.log", "cmake", "-S", here, "-B", build, "-G", "Ninja", *flags, *options)
    logged(FOLDER / "build.log", "cmake", "--build", build, *(["-j", jobs] if jobs else []), "--target", "tessera", "tessera_command", "tessera_mpi")


def without_links(prefix):
    """A wheel has no symbolic links. The library has the one name that programs look for, and the linker's name is a file that tells it
    that one."""
    lib = prefix / "lib"
    name = ".".join(version().split(".")[:2])
    real, wanted = lib / f"libtessera.so.{version()}", lib / f"libtessera.so.{name}"
    (lib / "libtessera.so").unlink()
    wanted.unlink()
    run("strip", "--strip-unneeded", "-o", wanted, real)
    real.unlink()
    (lib / "libtessera.so").write_text(f"/* tells a linker the library's name */\nINPUT({wanted.name})\n")
    targets, = (lib / "cmake/tessera").glob("tesseraTargets-*.cmake")
    text = targets.read_text()
    changed = re.sub(rf"libtessera\.so\.{re.escape(version())}\b", wanted.name, text)
    assert changed != text, targets
    targets.write_text(changed)
    return wanted


def make(build, jobs, options):
    """Builds the wheel in build/packages/wheel/dist and gives its path."""
    install("build_packages", "wheel_packages")
    FOLDER.mkdir(parents=True, exist_ok=True)
    print(f"building the library (the log is {(FOLDER / 'build.log').relative_to(here)})", flush=True)
    build_library(build, jobs, options)
    stage = FOLDER / "stage"
    shutil.rmtree(stage, ignore_errors=True)
    shutil.copytree(here / "packaging/wheel", stage, ignore=shutil.ignore_patterns("__pycache__"))
    prefix = stage / "tessera"
    run("cmake", "--install", build, "--prefix", prefix, stdout=(FOLDER / "install.log").open("w"))
    shutil.rmtree(prefix / "lib/tessera", ignore_errors=True)  # the plug-in for MPI needs the system's MPI
    shutil.rmtree(prefix / "share")
    library = without_links(prefix)
    run("strip", prefix / "bin/tessera")
    licences(library, stage / "licences")
    # The command finds the library beside it.
    wheel = pack(stage, FOLDER, "--exclude", library.name)
    report(wheel)
    return wheel
