"""Bare Debian systems in folders, which debootstrap makes, and in which packages are tried."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

from common import out, output, run

FOLDER = out / "try"
JOBS = [f"{name}={os.environ[name]}" for name in ("CMAKE_BUILD_PARALLEL_LEVEL",) if name in os.environ]
APART = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]


def this_release():
    return re.search(r"^VERSION_CODENAME=(\w+)", pathlib.Path("/etc/os-release").read_text(), re.M)[1]


def hindrance():
    """Why no bare system can be made here, or an empty text. Containers often lack the rights."""
    if os.geteuid():
        return "this needs root"
    if subprocess.run([*APART, "--mount-proc", "true"], capture_output=True).returncode:
        return "nothing can be mounted here"
    with tempfile.TemporaryDirectory() as folder:
        if subprocess.run(["mknod", f"{folder}/null", "c", "1", "3"], capture_output=True).returncode:
            return "no devices can be made here"
    return ""


class Root:
    """A bare system of a release of Debian, in which commands run with processes and mounts of their own."""

    def __init__(self, way, release=None):
        self.folder = FOLDER / way
        self.steps = []
        release = release or this_release()
        base = FOLDER / f"base_{release}"
        if not (base / "etc/apt/sources.list.d/host.sources").exists():
            make_base(base, release)
        remove(self.folder)
        run("cp", "-a", "--reflink=auto", base, self.folder)
        (self.folder / "work").mkdir()

    def take(self, *files):
        for file in files:
            shutil.copy(file, self.folder / "work")

    def quietly(self, command):
        """Runs a command in /work there, and gives what it prints."""
        done = subprocess.run([*APART, f"--mount-proc={self.folder}/proc", "chroot", self.folder,
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


def make_base(base, release):
    """Makes the bare system, out of the sources from which this machine has its packages."""
    remove(base)
    here = this_release()
    suites = sorted({tuple(line.split()) for line in output(
        "apt-get", "indextargets", "--format", "$(SITE) $(CODENAME)", "Origin: Debian", "Created-By: Packages").splitlines()})
    # Another release is where this one is, under its own name.
    suites = [(site, suite.replace(here, release)) for site, suite in suites if suite.startswith(here)]
    site = next(site for site, suite in suites if suite == release)
    print(f"making a bare system of {release}", flush=True)
    base.parent.mkdir(parents=True, exist_ok=True)
    run("debootstrap", "--variant=minbase", release, base, site, stdout=subprocess.DEVNULL)
    options = [line for line in output("apt-config", "dump").splitlines() if line.startswith("Acquire::") and not line.endswith('"";')]
    (base / "etc/apt/apt.conf.d/99host").write_text("\n".join(o for o in options if "Languages" not in o) + "\n")
    shutil.copy("/etc/resolv.conf", base / "etc/resolv.conf")
    (base / "etc/apt/sources.list").write_text("")
    with open(base / "etc/apt/sources.list.d/host.sources", "w") as file:
        for suite_site, suite in suites:
            file.write(f"Types: deb\nURIs: {suite_site}\nSuites: {suite}\nComponents: main\n"
                       "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n\n")
