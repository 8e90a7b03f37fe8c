"""The programs that are compared: how they are built, started, asked and stopped."""

import os
import pathlib
import select
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# The packages that an environment gets, and the modules of them that are imported.
# The newest JAX needs Python 3.12, and an older Python gets the last JAX that runs there. Without flatbuffers, JAX cannot read exported functions.
JAX = {"jax": ["jax==0.12.0.1; python_version >= '3.12'", "jax==0.10.2; python_version < '3.12'"], "flatbuffers": ["flatbuffers"]}
TORCH = {"torch": ["torch==2.15.0"]}

# How each side is kept to AVX2 on a processor that has more. XLA's products and convolutions do not obey their flag.
AVX2 = {"tessera": {"TESSERA_ISA": "avx2"}, "jax": {"XLA_FLAGS": "--xla_cpu_max_isa=AVX2"},
        "torch": {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"}}


class Failed(Exception):
    """A side could not run a row; the text goes into the table."""


class Worker:
    """A process that times rows on request. Started at the first request, and again after it died or was killed."""

    def __init__(self, command, environment, log):
        self.command, self.environment, self.log = command, environment, log
        self.process = None
        self.peak_kb = 0

    def ask(self, row, seconds, timeout):
        """(wall, CPU) microseconds of one call of a row."""
        if self.process is None:
            self.launch(["--serve"])
        try:
            self.send(f"time {row} {seconds}\n".encode())
            line = self.read_line(time.monotonic() + timeout)
        except BrokenPipeError:
            line = b""
        except TimeoutError:
            self.stop()
            raise Failed(f"hung (over {timeout:.0f} s)") from None
        if not line:
            code = self.process.wait()
            self.process = None
            raise Failed(f"ended with code {code}")
        word, _, rest = line.decode().strip().partition(" ")
        if word != "ok":
            raise Failed(rest[:80])
        self.peak_kb = max(self.peak_kb, peak_memory(self.process.pid))
        return tuple(float(x) for x in rest.split())

    def launch(self, mode):
        self.process = subprocess.Popen(self.command + mode, env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.log, bufsize=0)
        self.pending = b""

    def send(self, request):
        self.process.stdin.write(request)

    def read_line(self, deadline):
        while b"\n" not in self.pending:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError
            data = os.read(self.process.stdout.fileno(), 65536)
            if not data:
                return b""
            self.pending += data
        line, _, self.pending = self.pending.partition(b"\n")
        return line

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    def finish(self, seconds=20):
        """The process ends by itself if it can, and waits for its children, so that their time counts as this program's."""
        if self.process:
            self.process.stdin.close()
            try:
                self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                pass
        self.stop()


def peak_memory(pid):
    """The peak of the resident memory so far, in kilobytes."""
    try:
        for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1])
    except OSError:
        pass
    return 0


class Side:
    """One library: its workers (JAX has one for each number of virtual devices) and its single runs."""

    def __init__(self, command, environment, log):
        self.command, self.environment, self.log = command, environment, log
        self.workers = {}

    def environment_of(self, devices):
        return self.environment

    def worker(self, devices):
        return self.workers.setdefault(devices, Worker(self.command, self.environment_of(devices), self.log))

    def time(self, row, program, seconds, timeout):
        return self.worker(self.devices(row)).ask(program, seconds, timeout)

    def devices(self, _):
        return 0

    def run_once(self, row, program, timeout, **settings):
        """Measures a fresh process: (microseconds of the first call, seconds to the first result, peak kilobytes)."""
        environment = dict(self.environment_of(self.devices(row)), **settings)
        mode = "--peak" if row.kind == "peak" else "--first"
        start = time.perf_counter()
        with subprocess.Popen(self.command + [mode, program], env=environment,
                              stdout=subprocess.PIPE, stderr=self.log) as process:
            ready, _, _ = select.select([process.stdout], [], [], timeout)
            if not ready:
                process.kill()
                raise Failed(f"hung (over {timeout:.0f} s)")
            line = process.stdout.readline().decode().split()
            seconds = time.perf_counter() - start
            deadline = time.monotonic() + timeout
            while True:
                pid, status, usage = os.wait4(process.pid, os.WNOHANG)
                if pid:
                    break
                if time.monotonic() > deadline:
                    process.kill()
                    raise Failed(f"hung (over {timeout:.0f} s)")
                time.sleep(0.01)
            process.returncode = os.waitstatus_to_exitcode(status)
        if not line or line[0] != "ok":
            raise Failed(f"ended with code {process.returncode}")
        return float(line[1]), seconds, usage.ru_maxrss

    def peak_kb(self):
        return max((w.peak_kb for w in self.workers.values()), default=0)

    def stop(self):
        for w in self.workers.values():
            w.finish()


class JaxSide(Side):
    def devices(self, row):
        return row.jax

    def environment_of(self, devices):
        flags = [*self.environment.get("XLA_FLAGS", "").split(), f"--xla_force_host_platform_device_count={devices}"]
        return dict(self.environment, XLA_FLAGS=" ".join(flags))


class TorchSide(Side):
    def run_once(self, row, program, timeout, **settings):
        """An environment in which torch.compile finds nothing that an earlier process left on disk."""
        with tempfile.TemporaryDirectory() as cache:
            return super().run_once(row, program, timeout, TORCHINDUCTOR_CACHE_DIR=cache, TORCHINDUCTOR_FORCE_DISABLE_CACHES="1")


def run(command, **more):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **more)
    if done.returncode:
        sys.exit(f"error: {' '.join(map(str, command))} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def build_ours(folder, build, targets=("rows_bench", "limits_bench"), source=ROOT):
    if build:
        if not (folder / "CMakeCache.txt").exists():
            run(["cmake", "-S", source, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                 "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG", "-DTESSERA_BUILD_BENCH=ON"])
        run(["cmake", "--build", folder, "--target", *targets])
    return folder / "bench"


def clean_environment():
    """The environment without settings that would change a side, and without a disk cache of compiled kernels."""
    changing = ("TESSERA_", "XLA_", "JAX_", "TORCH", "PYTORCH_", "OMP_", "MKL_", "KMP_", "OPENBLAS_", "GOMP_")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(changing)}
    return dict(kept, TESSERA_CACHE="off", JAX_PLATFORMS="cpu")


def newest_python():
    """The newest interpreter here that can make virtual environments, 3.13 at most: later ones may lack wheels. Else this one."""
    for name in ("python3.13", "python3.12"):
        found = shutil.which(name)
        if found and not subprocess.run([found, "-c", "import ensurepip, venv"], capture_output=True).returncode:
            return found
    return sys.executable


def python_with(packages, python, venv):
    """An interpreter that has the packages: the given one, or that of a virtual environment made here."""
    if python:
        return str(python)
    made = venv / "bin/python"
    if not made.exists():
        run([newest_python(), "-m", "venv", venv])
    if subprocess.run([made, "-c", "import " + ", ".join(packages)], capture_output=True).returncode:
        run([made, "-m", "pip", "install", "--quiet", *(p for some in packages.values() for p in some)])
    return str(made)


def jax_python(python, work):
    return python_with(JAX, python, work / "venv")


def torch_python(python, work):
    return python_with(TORCH, python, work / "venv_torch")


def build_libtorch(python, work):
    """The command of the program that calls PyTorch from C++, built with the libraries of its wheel; or None, and why there is none."""
    where = "import torch; print(torch.__path__[0], int(torch.compiled_with_cxx11_abi()))"
    folder, abi = run([python, "-c", where]).rsplit(maxsplit=1)
    source, program = HERE / "torch_calls.cc", work / "torch_calls"
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        compiler = shutil.which("g++") or shutil.which("c++")
        includes = [f"-isystem{folder}/include", f"-isystem{folder}/include/torch/csrc/api/include"]
        done = subprocess.run([compiler, "-std=c++20", "-O2", f"-D_GLIBCXX_USE_CXX11_ABI={abi}", *includes, source, "-o", program,
                               f"-L{folder}/lib", f"-Wl,-rpath,{folder}/lib", "-Wl,--no-as-needed", "-ltorch", "-ltorch_cpu", "-lc10"],
                              capture_output=True, text=True)
        if done.returncode:
            return None, "its program does not build: " + next((l for l in done.stderr.splitlines() if "error" in l), "")[:200]
    return [str(program)], ""
