"""The source archive, which builds without git: `scripts/package source`."""
import hashlib
import subprocess
import sys

from common import fresh, here, out, output, version

FOLDER = out / "source"


def make():
    """Writes build/packages/source/tessera-VERSION.tar.gz out of the last commit, the same bytes each time, and gives its path."""
    name = f"tessera-{version()}"
    archive = fresh(FOLDER) / f"{name}.tar.gz"
    if output("git", "status", "--porcelain", "--untracked-files=no", cwd=here).strip():
        print("what is not committed is not in the archive", file=sys.stderr)
    tar = subprocess.run(["git", "archive", "--format=tar", f"--prefix={name}/", "HEAD"], cwd=here, check=True, capture_output=True).stdout
    packed = subprocess.run(["gzip", "-9", "-n"], input=tar, check=True, capture_output=True).stdout
    archive.write_bytes(packed)
    print(f"{archive.relative_to(here)}: {len(packed) / 1e6:.1f} MB, SHA-256 {hashlib.sha256(packed).hexdigest()}")
    return archive
