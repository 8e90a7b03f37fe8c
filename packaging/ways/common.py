"""What all kinds of packages share: paths, the version, running commands, the build folder, and tools from PyPI."""
import pathlib
import re
import shutil
import subprocess
import sys
import venv

here = pathlib.Path(__file__).resolve().parent.parent.parent
out = here / "build/packages"


def version():
    """The version, as the headers declare it."""
    return ".".join(re.findall(r"#define TESSERA_VERSION_[A-Z]+ (\d+)", (here / "include/tessera/config.h").read_text()))


def run(*command, **more):
    subprocess.run([str(c) for c in command], check=True, **more)


def output(*command, **more):
    return subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True, **more).stdout


def logged(log, *command, **more):
    """Runs a command whose output is of interest only if it fails."""
    with open(log, "w") as file:
        done = subprocess.run([str(c) for c in command], stdout=file, stderr=file, **more)
    if done.returncode:
        sys.exit(pathlib.Path(log).read_text()[-8000:] + f"error: {' '.join(map(str, command))} failed; the log is {log}")


def install(*lists):
    """Installs the Debian packages of the lists in scripts/packages that are missing."""
    names = " ".join(f'"${{{name}[@]}}"' for name in lists)
    run("bash", "-c", f"source scripts/packages && scripts/install_packages {names}", cwd=here)


def fresh(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def python_tools(folder, *packages):
    """A virtual environment with these packages from PyPI, made once; gives its folder of programs."""
    stamp = folder / "packages.txt"
    if not stamp.exists() or stamp.read_text() != "\n".join(packages):
        venv.create(folder, with_pip=True, clear=True)
        run(folder / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade", *packages)
        stamp.write_text("\n".join(packages))
    return folder / "bin"


def compiled_with(build):
    """Options for CMake that keep what the objects of a build folder depend on. Tests divide the files of rooms differently."""
    names = "CMAKE_CXX_FLAGS|CMAKE_CXX_FLAGS_RELEASE|TESSERA_(?:PRECOMPILED_HEADERS|UNITY|VERIFY_PASSES|QUICK_BUILD|BUILD_TESTS)"
    found = re.findall(rf"^({names}):\w+=(.*)$", (build / "CMakeCache.txt").read_text(), re.M)
    return [f"-D{name}={value}" for name, value in found]
