"""Makes packages out of a build that is there, and tries them as far as this system permits: `scripts/package check`, which CI calls."""
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time

import attempts
import deb
import source
import wheel
from common import compiled_with, fresh, here, install, out, run, version
from roots import Root, hindrance, remove

FOLDER = out / "check"


@contextlib.contextmanager
def borrowed(build):
    """Packages are linked in the folder of a build and leave its options as they were."""
    cache, kept = build / "CMakeCache.txt", build / "CMakeCache.before_packages"
    if not kept.exists():  # it is there if an earlier run was killed
        shutil.copy(cache, kept)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("error: packages took too long"))  # so that the options are restored
    try:
        yield
    finally:
        kept.replace(cache)
        with open(FOLDER / "restore.log", "w") as log:
            run("cmake", "-S", here, "-B", build, stdout=log, stderr=log)


class Tally:
    """What was checked, and what could not be."""

    def __init__(self):
        self.checked, self.skipped, self.begin = [], [], time.monotonic()

    def passed(self, what):
        print(f"  checked: {what} ({time.monotonic() - self.begin:.0f} s)", flush=True)
        self.checked.append(what)
        self.begin = time.monotonic()

    def skip(self, what, why):
        print(f"  SKIPPED: {what}: {why}", flush=True)
        self.skipped.append(what)


def typed(folder, command, **variables):
    """Runs a command in a folder with nothing of this process's environment but the paths of programs, and gives what it prints."""
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(folder), "LANG": "C.UTF-8", **variables}
    environment.update({k: v for k, v in os.environ.items() if k.startswith("PIP_") or k == "CMAKE_BUILD_PARALLEL_LEVEL"})
    done = subprocess.run(["sh", "-ec", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"{done.stdout[-4000:]}\nerror: in {folder}: {command}")
    return done.stdout


def first_project(folder, compiler, **variables):
    """Begins a project with the command that was installed, builds it, runs it and tests it."""
    printed = typed(folder, f'rm -rf my_project && {attempts.PROJECT} && cmake -B build -DCMAKE_CXX_COMPILER={compiler} '
                    '-Dtessera_DIR="$(tessera --cmake-dir)" && cmake --build build && ./build/my_project && ctest --test-dir build', **variables)
    if attempts.FIRST_RESULT not in printed:
        sys.exit(f"error: in {folder} the first program printed\n{printed}")


def check_deb(build, tally):
    packages = deb.make(build, None, compiled_with(build))
    tally.passed(f"{len(packages)} Debian packages are made, and lintian has nothing to say")
    used = [p for p in packages if "mpi" not in p.name]
    what = "the packages install on a bare system, and a project builds and runs there"
    why = hindrance()
    if not why:
        install("try_packages")
        try:
            root = Root("check")
        except subprocess.CalledProcessError as failed:
            why = f"no bare system could be made: {failed}"
    if not why:
        attempts.install_packages(root, used)
        remove(root.folder)
        tally.passed(what)
        return
    tally.skip(what, why)
    folder = fresh(FOLDER / "unpacked")
    for package in used:
        run("dpkg-deb", "-x", package, folder)
    libraries, = folder.glob("usr/lib/*-linux-*")
    first_project(folder, "g++", PATH=f"{folder}/usr/bin:/usr/bin:/bin", LD_LIBRARY_PATH=str(libraries))
    tally.passed("the packages, unpacked in a folder, build and run a project")


def check_wheel(build, tally):
    made = wheel.make(build, None, compiled_with(build))
    tally.passed("the wheel is made, with all libraries inside")
    folder = fresh(FOLDER / "wheel")
    typed(folder, f"python3 -m venv env && env/bin/pip install --disable-pip-version-check {made}")
    for compiler in ("g++", "clang++-19"):
        if not shutil.which(compiler):
            tally.skip(f"a project builds with the wheel and {compiler}", "the compiler is not installed")
            continue
        first_project(folder, compiler, PATH=f"{folder}/env/bin:/usr/local/bin:/usr/bin:/bin")
        if foreign := attempts.foreign_libraries(typed(folder, "ldd my_project/build/my_project"), f"{folder}/env"):
            sys.exit(f"error: a program of the wheel loads {foreign[0]}")
        tally.passed(f"a project builds and runs with the wheel and {compiler}, in an empty virtual environment")


def check_source(build, tally):
    """Configures a project that takes the archive in, without git, and compiles a file of it. The whole would take half an hour."""
    archive = source.make()
    folder = fresh(FOLDER / "source")
    for file in (here / "packaging/fetchcontent").iterdir():
        shutil.copy(file, folder)
    names = typed(folder, f"cmake -B build -G Ninja -DTESSERA_ARCHIVE={archive} && ninja -C build -t targets all").splitlines()
    objects = [n.split(":")[0] for n in names if n.split(":")[0].endswith("/base/dtype.cc.o")]
    if len(objects) != 1:
        sys.exit(f"error: the project has no object of src/base/dtype.cc: {objects}")
    typed(folder, f"ninja -C build {objects[0]}")
    tally.passed(f"the source archive of version {version()} is configured without git, and a file of it compiles")


WAYS = {"deb": check_deb, "wheel": check_wheel, "source": check_source}


def run_all(asked, build):
    for way in asked:
        if way not in WAYS:
            sys.exit(f"error: there is no package {way}; there are {', '.join(WAYS)}")
    if not (build / "CMakeCache.txt").exists():
        sys.exit(f"error: there is no build in {build}; ./test makes one")
    FOLDER.mkdir(parents=True, exist_ok=True)
    tally = Tally()
    with borrowed(build):
        for way in asked or WAYS:
            print(f"== {way}", flush=True)
            WAYS[way](build, tally)
    print(f"packages: {len(tally.checked)} checked, {len(tally.skipped)} skipped")
