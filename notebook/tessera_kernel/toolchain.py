"""The compiler and the library with which cells are compiled, and what is compiled once: the process that runs cells, and the header that
every cell includes."""
import dataclasses
import fcntl
import hashlib
import json
import os
import pathlib
import shutil
import subprocess

CPP = pathlib.Path(__file__).resolve().parent / "cpp"
KEPT = 4  # as many folders stay, those that were used last
OPTIONS = ["-std=c++20", "-O0", "-fPIC", "-pthread"]


class SetupError(Exception):
    """Something is missing on this machine. The text says what to do."""


@dataclasses.dataclass
class Toolchain:
    compiler: str
    include: str
    library: str

    def save(self, path):
        pathlib.Path(path).write_text(json.dumps(dataclasses.asdict(self), indent=1) + "\n")

    @staticmethod
    def load(path):
        return Toolchain(**json.loads(pathlib.Path(path).read_text()))

    @property
    def clang(self):
        return b"clang" in _output([self.compiler, "--version"])

    def folder(self):
        """The folder of what was compiled for this compiler, library and version of the kernel."""
        what = hashlib.sha256(_output([self.compiler, "--version"]))
        for path in [*sorted(CPP.iterdir()), *sorted(pathlib.Path(self.include, "tessera").rglob("*.h"))]:
            if path.suffix in (".h", ".cc"):
                what.update(path.read_bytes())
        what.update(f"{self.library} {os.stat(self.library).st_mtime_ns} {OPTIONS}".encode())
        base = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
        return base / "tessera" / "kernel" / what.hexdigest()[:16]

    def prepare(self, say=None):
        """Compiles what is not there yet, and gives the folder. `say` is called with a remark before."""
        folder = self.folder()
        if (folder / "ready").exists():
            (folder / "ready").touch()  # when it was used
            return folder
        if say is not None:
            say("Compiling what cells include, once for this version of the library and the compiler ...\n")
        folder.mkdir(parents=True, exist_ok=True)
        # A precompiled header names the folder in which it was made, so everything is made in its final place, by one process at a time.
        with open(folder / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if (folder / "ready").exists():
                return folder
            shutil.copy(CPP / "notebook.h", folder)
            precompiled = "cell.pch" if self.clang else "notebook.h.gch"
            more = ["-fpch-instantiate-templates"] if self.clang else []
            _build([self.compiler, *OPTIONS, *more, f"-I{self.include}", "-x", "c++-header", folder / "notebook.h", "-o", folder / precompiled])
            library = pathlib.Path(self.library).resolve()
            _build([self.compiler, *OPTIONS, "-O1", f"-I{self.include}", CPP / "runner.cc", CPP / "pictures.cc", "-o", folder / "runner", "-rdynamic",
                    library, f"-Wl,-rpath,{library.parent}", "-ldl"])
            (folder / "ready").touch()
        used = sorted(folder.parent.glob("*/ready"), key=lambda p: p.stat().st_mtime)
        for old in used[:-KEPT]:
            shutil.rmtree(old.parent, ignore_errors=True)
        return folder

    def command(self, folder, source, target):
        """The command that compiles a cell."""
        header = ["-include-pch", folder / "cell.pch"] if self.clang else ["-include", folder / "notebook.h"]
        linker = ["-fuse-ld=mold"] if shutil.which("mold") else []
        colours = [] if self.clang else ["-fdiagnostics-color=never"]
        return [str(a) for a in (self.compiler, *OPTIONS, *header, f"-I{self.include}", "-fmax-errors=3" if not self.clang else "-ferror-limit=3",
                                 *colours, "-shared", *linker, source, "-o", target)]


def _output(command):
    try:
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return b""


def _build(command):
    done = subprocess.run([str(a) for a in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise SetupError(f"{' '.join(map(str, command))}\nfailed:\n{done.stdout[-3000:]}")


def find(compiler=None, prefix=None, include=None, library=None):
    """The toolchain for the given parts; what is not given is looked for: an installed Python package `tessera`, then pkg-config."""
    if compiler is None:
        compiler = next((c for c in ("clang++-19", "g++", "clang++") if shutil.which(c)), None)
        if compiler is None:
            raise SetupError("there is no C++ compiler. Cells are compiled with g++ 12 or later or clang 19; install one of them")
    elif not shutil.which(compiler):
        raise SetupError(f"the compiler {compiler} is not there")
    if include is None or library is None:
        folders = None
        if prefix is None:
            prefix = _wheel_prefix()
        if not prefix:
            prefix = _pkg_config("includedir").removesuffix("/include")
            folders = [_pkg_config("libdir")]
        if not prefix:
            raise SetupError("Tessera is not installed. Install its wheel into this environment, or its Debian packages, or name the folder "
                             "with its include/ and lib/: --prefix FOLDER")
        include = include or os.path.join(prefix, "include")
        library = library or _library(prefix, folders)
    for path in (os.path.join(include, "tessera", "tessera.h"), library):
        if not os.path.exists(path):
            raise SetupError(f"{path} is not there. --prefix names the folder with Tessera's include/ and lib/")
    return Toolchain(shutil.which(compiler), os.path.abspath(include), os.path.abspath(library))


def _wheel_prefix():
    try:
        import tessera
        return tessera.prefix()
    except (ImportError, AttributeError):
        return None


def _pkg_config(variable):
    return _output(["pkg-config", f"--variable={variable}", "tessera"]).decode().strip()


def _library(prefix, folders=None):
    folders = folders or ("lib", "lib64", f"lib/{os.uname().machine}-linux-gnu")
    found = [p for folder in folders for p in sorted(pathlib.Path(prefix, folder).glob("libtessera.so*"))]
    # In the wheel, libtessera.so is a text that tells linkers the library's name.
    found = [p for p in found if p.read_bytes()[:4] == b"\x7fELF"]
    if not found:
        raise SetupError(f"{prefix} has no shared library libtessera.so. An installation of static archives does not serve cells; "
                         "configure with -DBUILD_SHARED_LIBS=ON")
    return str(found[-1])
