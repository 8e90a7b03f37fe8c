"""Makes a folder of programs that runs on a machine without a compiler and without this library's dependencies."""

import json
import os
import pathlib
import re
import shutil
import subprocess

# The C library belongs to the machine. It comes along in a folder of its own, for machines whose own is older than the one here.
SYSTEM = re.compile(r"(ld-linux.*|libc|libm|libmvec|libpthread|libdl|librt|libresolv|libutil)\.so")
LOADER = "ld-linux-x86-64.so.2"


class Missing(Exception):
    """Something that the folder needs is not built."""


def needed(program):
    """{name: path} of the shared libraries of a program."""
    text = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    gone = re.findall(r"^\s*(\S+) => not found", text, re.M)
    if gone:
        raise Missing(f"{program} needs {', '.join(gone)}")
    found = dict(re.findall(r"^\s*(\S+) => (/\S+)", text, re.M))
    for path in re.findall(r"^\s*(/\S+) \(", text, re.M):
        found[pathlib.Path(path).name] = path
    return found


def prepare(folder, root, programs, files):
    """Copies `programs` and what they need into `folder`. `files` are pairs: a path below `root`, and its place in the folder."""
    for name in ("bin", "lib", "glibc"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    names = []
    for program in programs:
        if not program.is_file():
            raise Missing(f"{program} is not built")
        shutil.copy2(program, folder / "bin" / program.name)
        subprocess.run(["strip", "--strip-unneeded", folder / "bin" / program.name], check=False, stderr=subprocess.DEVNULL)
        names.append(program.name)
        for name, path in needed(program).items():
            shutil.copy2(os.path.realpath(path), folder / ("glibc" if SYSTEM.match(name) else "lib") / name)
    for source, place in files:
        target = folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if (root / source).is_dir():
            shutil.copytree(root / source, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(root / source, target)
    (folder / "programs.json").write_text(json.dumps(names))
    size = sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())
    return names, size


def starts(command, environment):
    """Whether a program starts: the dynamic linker has its code 127, and 1 where the C library is too old."""
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    return done.returncode != 127 and "GLIBC" not in done.stderr and "error while loading shared libraries" not in done.stderr


class Programs:
    """Where programs are, and how they are started."""

    def __init__(self, places, folder=None):
        self.places, self.folder, self.by_loader = places, folder, False

    def find(self, name):
        return next((p / name for p in self.places if (p / name).is_file()), None)

    def libraries(self):
        return [str(self.folder / "lib")] if self.folder else []

    def command(self, name, *arguments):
        path = self.find(name)
        if path is None:
            raise Missing(f"{name} is not built")
        if not self.by_loader:
            return [str(path), *arguments]
        libraries = [str(self.folder / "glibc"), *self.libraries(), *filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(":"))]
        return [str(self.folder / "glibc" / LOADER), "--library-path", ":".join(libraries), str(path), *arguments]

    def environment(self, more=()):
        here = dict(os.environ)
        path = [*self.libraries(), *more, *filter(None, [here.get("LD_LIBRARY_PATH")])]
        if path:
            here["LD_LIBRARY_PATH"] = ":".join(path)
        return here

    def choose(self):
        """Takes the C library that came along if the machine's is too old."""
        if self.folder and not starts(self.command("device_check"), self.environment()):
            self.by_loader = True
        return self.by_loader
