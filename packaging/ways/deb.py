"""The Debian packages: `scripts/package deb`. They fit the Debian release on which they are made."""
import os
import shlex
import shutil
import subprocess
import sys

from common import fresh, here, install, logged, out, run, version

FOLDER = out / "deb"


def maintainer():
    """Who makes the packages: DEBFULLNAME and DEBEMAIL, which Debian's own tools read, or else the author of the last commit."""
    name, address = os.environ.get("DEBFULLNAME"), os.environ.get("DEBEMAIL")
    if name and address:
        return f"{name} <{address}>"
    asked = subprocess.run(["git", "log", "-1", "--format=%an <%ae>"], cwd=here, capture_output=True, text=True)
    if asked.returncode or not asked.stdout.strip():
        sys.exit("error: nobody is known to make these packages\ntry: set DEBFULLNAME and DEBEMAIL to your name and address")
    return asked.stdout.strip()


def make(build, jobs, options):
    """Builds the packages in build/packages/deb, checks them with lintian, and gives their paths."""
    install("build_packages", "mpi_packages", "deb_packages")
    tree = fresh(FOLDER) / f"tessera-{version()}"
    shutil.copytree(here / "packaging/debian", tree / "debian")
    shutil.copy(here / "NOTICE", tree)
    for name in ("control", "changelog"):
        file = tree / "debian" / name
        file.write_text(file.read_text().replace("@maintainer@", maintainer()))
    environment = {**os.environ, "TESSERA_SOURCE": str(here), "TESSERA_BUILD": str(build), "TESSERA_JOBS": jobs or "",
                   "TESSERA_CMAKE": shlex.join(options)}
    print(f"building the packages (the log is {(FOLDER / 'build.log').relative_to(here)})", flush=True)
    logged(FOLDER / "build.log", "dpkg-buildpackage", "-b", "-us", "-uc", cwd=tree, env=environment)
    packages = sorted(FOLDER.glob("*.deb"))
    for package in packages:
        print(f"{package.relative_to(here)}: {package.stat().st_size / 1e6:.1f} MB")
        fields = subprocess.run(["dpkg-deb", "-f", package, "Depends"], check=True, capture_output=True, text=True).stdout
        print(f"  Depends: {fields.strip()}")
    # One warning is about uploads to Debian's own archive.
    run("lintian", "--fail-on", "error,warning", "--suppress-tags", "initial-upload-closes-no-bugs", "--allow-root",
        "--tag-display-limit", "0", *packages)
    print("lintian has no errors and no warnings")
    return packages
