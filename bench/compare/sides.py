"""The programs that are compared: how they are built, started, asked and stopped."""

import glob
import os
import pathlib
import select
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
JAX = "jax==0.10.2"


class Failed(Exception):
    """A side could not run a row; the text goes into the table."""


class Worker:
    """A process that times rows on request. Started at the first request, and again after it died or was killed."""

    def __init__(self, command, environment, log):
        self.command, self.environment, self.log = command, environment, log
        self.process = None
        self.peak_kb = 0

    def ask(self, row, seconds, timeout):
        """(wall, CPU) microseconds of a call of a program's row."""
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


def peak_memory(pid):
    """Resident kilobytes at most so far."""
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

    def run_once(self, row, program, timeout):
        """A fresh process: (microseconds of the first call, seconds to the first result, peak kilobytes)."""
        mode = "--peak" if row.kind == "peak" else "--first"
        start = time.perf_counter()
        with subprocess.Popen(self.command + [mode, program], env=self.environment_of(self.devices(row)),
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
            w.stop()


class JaxSide(Side):
    def devices(self, row):
        return row.jax

    def environment_of(self, devices):
        return dict(self.environment, XLA_FLAGS=f"--xla_force_host_platform_device_count={devices}")


def run(command, **more):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **more)
    if done.returncode:
        sys.exit(f"error: {' '.join(map(str, command))} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def build_ours(folder, build, targets=("rows_bench", "limits_bench")):
    if build:
        if not (folder / "CMakeCache.txt").exists():
            run(["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                 "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG", "-DTESSERA_BUILD_BENCH=ON"])
        run(["cmake", "--build", folder, "--target", *targets])
    return folder / "bench"


def clean_environment():
    """Without settings that would change either side; compiled kernels come from no disk cache."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("TESSERA_", "XLA_", "JAX_", "OMP_", "OPENBLAS_", "GOMP_"))}
    return dict(kept, TESSERA_CACHE="off", JAX_PLATFORMS="cpu")


def jax_python(python, work):
    """An interpreter with JAX: the given one, or that of a virtual environment made here."""
    if python:
        return python
    venv = work / "venv"
    if not (venv / "bin/python").exists():
        run([sys.executable, "-m", "venv", venv])
    if not glob.glob(str(venv / "lib/python*/site-packages/jax/version.py")):
        run([venv / "bin/python", "-m", "pip", "install", "--quiet", JAX])
    return venv / "bin/python"


def build_torch(work):
    """(command, environment) of the LibTorch program, or why there is none."""
    if not pathlib.Path("/usr/include/torch/csrc/api/include/torch/torch.h").exists():
        return "libtorch-dev is not installed"
    blas = glob.glob("/usr/lib/*/openblas-pthread/libblas.so.3")
    if not blas:
        return "libopenblas0-pthread is not installed"
    source, program = HERE / "torch_rows.cc", work / "torch_rows"
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        compiler = shutil.which("g++") or shutil.which("c++")
        done = subprocess.run([compiler, "-std=c++17", "-O2", "-I/usr/include/torch/csrc/api/include", source, "-o", program,
                               "-ltorch", "-ltorch_cpu", "-lc10"], capture_output=True, text=True)
        if done.returncode:
            return "its program does not build: " + next((l for l in done.stderr.splitlines() if "error" in l), "")[:200]
    # Debian's LibTorch takes whatever libblas.so.3 is; this one, so that products are not the reference BLAS's.
    return [str(program)], dict(clean_environment(), LD_LIBRARY_PATH=os.path.dirname(blas[0]))
