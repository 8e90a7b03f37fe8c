"""Tries packages as a user would: `scripts/package --try`. Each way begins with a bare Debian system of the release of this machine, in a
folder that debootstrap makes, and ends with the first result of a program."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

from common import here, install, out, output, run, version

FOLDER = out / "try"
PROJECT = "tessera new my_project && cd my_project"
FIRST_RESULT = "saved spirals.safetensors"
JOBS = [f"{name}={os.environ[name]}" for name in ("CMAKE_BUILD_PARALLEL_LEVEL",) if name in os.environ]


class Root:
    """A bare system in a folder, in which commands run with processes and mounts of their own."""

    def __init__(self, way):
        self.folder = FOLDER / way
        self.steps = []
        base = FOLDER / "base"
        if not (base / "etc/apt/sources.list.d/host.sources").exists():
            make_base(base)
        remove(self.folder)
        run("cp", "-a", "--reflink=auto", base, self.folder)
        (self.folder / "work").mkdir()

    def take(self, *files):
        for file in files:
            shutil.copy(file, self.folder / "work")

    def quietly(self, command):
        """Runs a command in /work there, and gives what it prints."""
        done = subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", f"--mount-proc={self.folder}/proc", "chroot", self.folder,
                               "/usr/bin/env", "-i", "PATH=/usr/local/bin:/usr/bin:/usr/sbin:/bin:/sbin", "HOME=/root", "LANG=C.UTF-8",
                               "DEBIAN_FRONTEND=noninteractive", *JOBS, "sh", "-ec", f"cd /work\n{command}"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, stdin=subprocess.DEVNULL)
        if done.returncode:
            sys.exit(f"{done.stdout[-4000:]}\nerror: in {self.folder}: {command}")
        return done.stdout

    def type(self, command):
        """Runs a command that is part of the way, and keeps how long it took."""
        begin = time.monotonic()
        printed = self.quietly(command)
        self.steps.append((command, time.monotonic() - begin))
        print(f"  {self.steps[-1][1]:7.1f} s  {command}", flush=True)
        return printed


def remove(folder):
    if folder.exists():
        run("rm", "-rf", "--one-file-system", folder)


def make_base(base):
    """Makes the bare system, out of the sources from which this machine has its packages."""
    remove(base)
    release = re.search(r"^VERSION_CODENAME=(\w+)", pathlib.Path("/etc/os-release").read_text(), re.M)[1]
    sites = output("apt-get", "indextargets", "--format", "$(SITE) $(RELEASE)", f"Codename: {release}", "Created-By: Packages").splitlines()
    site = next(line.split()[0] for line in sites)
    print(f"making a bare system of {release}", flush=True)
    base.parent.mkdir(parents=True, exist_ok=True)
    run("debootstrap", "--variant=minbase", release, base, site, stdout=subprocess.DEVNULL)
    options = [line for line in output("apt-config", "dump").splitlines() if line.startswith("Acquire::") and not line.endswith('"";')]
    (base / "etc/apt/apt.conf.d/99host").write_text("\n".join(o for o in options if "Languages" not in o) + "\n")
    shutil.copy("/etc/resolv.conf", base / "etc/resolv.conf")
    (base / "etc/apt/sources.list").write_text("")
    suites = sorted({tuple(line.split()) for line in output(
        "apt-get", "indextargets", "--format", "$(SITE) $(RELEASE)", "Origin: Debian", "Created-By: Packages").splitlines()})
    for suite_site, suite in suites:
        with open(base / "etc/apt/sources.list.d/host.sources", "a") as file:
            file.write(f"Types: deb\nURIs: {suite_site}\nSuites: {suite}\nComponents: main\n"
                       "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n\n")


def check_project(root, printed):
    if FIRST_RESULT not in printed:
        sys.exit(f"error: in {root.folder} the first program printed\n{printed}")
    root.quietly("cd my_project && ctest --test-dir build")


def deb():
    """The Debian packages, with the compiler and CMake that they recommend."""
    root = Root("deb")
    root.take(*(p for p in (out / "deb").glob("*.deb") if "mpi" not in p.name))
    root.type("apt-get update")
    root.type("apt-get install -y ./*.deb")
    printed = root.type(f"{PROJECT} && cmake -B build && cmake --build build && ./build/my_project")
    check_project(root, printed)
    return root


def by_wheel(way, compiler, packages):
    root = Root(way)
    wheel, = (out / "wheel/dist").glob("*.whl")
    root.take(wheel)
    root.type("apt-get update")
    root.type(f"apt-get install -y --no-install-recommends {packages} cmake make python3-venv")
    root.type(f"python3 -m venv env && env/bin/pip install ./{wheel.name}")
    printed = root.type(f'. env/bin/activate && {PROJECT} && cmake -B build -DCMAKE_CXX_COMPILER={compiler} '
                        '-Dtessera_DIR="$(tessera --cmake-dir)" && cmake --build build && ./build/my_project')
    check_project(root, printed)
    # Every library but those that any system has comes from the wheel.
    for line in root.quietly("ldd my_project/build/my_project").splitlines():
        found = re.search(r"=> (/\S+)", line)
        if found and not found[1].startswith("/work/env/") and not re.search(r"/lib(c|m|gcc_s|stdc\+\+|z|dl|rt|pthread)\.so", found[1]):
            sys.exit(f"error: a program of the wheel loads {found[1]}")
    return root


def wheel():
    """The wheel in an empty virtual environment, with g++."""
    return by_wheel("wheel", "g++", "g++")


def wheel_clang():
    """The same with clang 19."""
    return by_wheel("wheel_clang", "clang++-19", "clang-19 libstdc++-12-dev")


def source():
    """The source archive as a part of a project (packaging/fetchcontent), without git, built for a first program."""
    root = Root("source")
    archive = out / f"source/tessera-{version()}.tar.gz"
    root.take(archive, *(here / "packaging/fetchcontent").glob("*"))
    names = output("bash", "-c", 'source scripts/packages && echo "${build_packages[@]}"', cwd=here).split()
    root.type("apt-get update")
    root.type(f"apt-get install -y --no-install-recommends make {' '.join(n for n in names if n not in ('ccache', 'libcli11-dev'))}")
    printed = root.type(f"cmake -B build -G Ninja -DTESSERA_ARCHIVE=$PWD/{archive.name} -DTESSERA_QUICK_BUILD=ON -DTESSERA_UNITY=ON "
                        "-DTESSERA_PRECOMPILED_HEADERS=ON && cmake --build build --target my_program && ./build/my_program")
    if not printed.endswith("10.0 [2. 4.]\n"):
        sys.exit(f"error: the first program printed\n{printed[-2000:]}")
    return root


WAYS = {f.__name__: f for f in (deb, wheel, wheel_clang, source)}


def run_all(asked):
    install("try_packages")
    for way in asked:
        if way not in WAYS:
            sys.exit(f"error: there is no way {way}; there are {', '.join(WAYS)}")
    rows = []
    for way in asked or WAYS:
        print(f"== {way}: {WAYS[way].__doc__.splitlines()[0]}", flush=True)
        root = WAYS[way]()
        rows.append((way, root.steps))
        remove(root.folder)
    print("\n| way | commands | seconds | in all |\n|---|---|---|---|")
    for way, steps in rows:
        commands = "<br>".join(f"`{command}`" for command, _ in steps)
        print(f"| {way} | {commands} | {'<br>'.join(f'{s:.0f}' for _, s in steps)} | {sum(s for _, s in steps):.0f} |")
