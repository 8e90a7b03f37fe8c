"""Tries packages as a user would: `scripts/package --try`. Each way begins with a bare Debian system (roots.py) and ends with the first
result of a program."""
import re
import sys

from common import here, install, out, output, version
from roots import Root, hindrance, remove

PROJECT = "tessera new my_project && cd my_project"
FIRST_RESULT = "saved spirals.safetensors"
# Libraries that any system has.
OF_ANY_SYSTEM = r"/(lib(c|m|gcc_s|stdc\+\+|z|dl|rt|pthread)|ld-linux-x86-64)\.so"


def check_project(root, printed):
    if FIRST_RESULT not in printed:
        sys.exit(f"error: in {root.folder} the first program printed\n{printed}")
    root.quietly("cd my_project && ctest --test-dir build")


def foreign_libraries(ldd, folder):
    """The libraries of a program that come neither from the folder nor with any system."""
    found = re.findall(r"=> (/\S+)", ldd)
    return [path for path in found if not path.startswith(f"{folder}/") and not re.search(OF_ANY_SYSTEM, path)]


def install_packages(root, packages):
    """Installs the Debian packages in a bare system, and begins a project."""
    root.take(*packages)
    root.type("apt-get update")
    root.type("apt-get install -y ./*.deb")
    printed = root.type(f"{PROJECT} && cmake -B build && cmake --build build && ./build/my_project")
    check_project(root, printed)
    return root


def deb():
    """The Debian packages, with the compiler and CMake that they recommend."""
    return install_packages(Root("deb"), [p for p in (out / "deb").glob("*.deb") if "mpi" not in p.name])


def deb13():
    """The Debian packages, made on Debian 13 out of the source archive and installed there. The library is compiled quickly, not well."""
    maker = Root("deb13_maker", "trixie")
    maker.take(out / f"source/tessera-{version()}.tar.gz")
    lists = " ".join(f'"${{{name}[@]}}"' for name in ("build_packages", "mpi_packages", "deb_packages"))
    maker.type("apt-get update")
    maker.quietly(f"tar xf tessera-{version()}.tar.gz && mv tessera-{version()} tessera && apt-get install -y --no-install-recommends bash")
    maker.type(f"cd tessera && bash -c 'source scripts/packages && apt-get install -y --no-install-recommends {lists}'")
    print(maker.type("cd tessera && DEBFULLNAME=Nobody DEBEMAIL=nobody@localhost scripts/package deb --quick"))
    made = [p for p in (maker.folder / "work/tessera/build/packages/deb").glob("*.deb") if "mpi" not in p.name]
    return install_packages(Root("deb13", "trixie"), made)


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
    if foreign := foreign_libraries(root.quietly("ldd my_project/build/my_project"), "/work/env"):
        sys.exit(f"error: a program of the wheel loads {foreign[0]}")
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


WAYS = {f.__name__: f for f in (deb, wheel, wheel_clang, source, deb13)}


def run_all(asked):
    install("try_packages")
    if why := hindrance():
        sys.exit(f"error: {why}, and packages are tried in bare systems; `scripts/package check` tries them as far as it can")
    for way in asked:
        if way not in WAYS:
            sys.exit(f"error: there is no way {way}; there are {', '.join(WAYS)}")
    rows = []
    for way in asked or [w for w in WAYS if w != "deb13"]:
        print(f"== {way}: {WAYS[way].__doc__.splitlines()[0]}", flush=True)
        root = WAYS[way]()
        rows.append((way, root.steps))
        remove(root.folder)
    print("\n| way | commands | seconds | in all |\n|---|---|---|---|")
    for way, steps in rows:
        commands = "<br>".join(f"`{command}`" for command, _ in steps)
        print(f"| {way} | {commands} | {'<br>'.join(f'{s:.0f}' for _, s in steps)} | {sum(s for _, s in steps):.0f} |")
