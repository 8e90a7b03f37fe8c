"""Several processes that run a row together: how they are started, asked and stopped."""

import os
import socket
import subprocess
import tempfile
import time

import sides

# In containers, a launcher may refuse the superuser or more processes than cores, and bind a process to one core. Only Open MPI's
# reads these settings.
LAUNCHER = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
            "OMPI_MCA_hwloc_base_binding_policy": "none"}


class Group(sides.Worker):
    """Processes that are given the same requests; self.process answers, or its launcher for it. Where a request fails they have lost each
    other, and are stopped."""

    def ask(self, row, seconds, timeout):
        try:
            return super().ask(row, seconds, timeout)
        except sides.Failed:
            self.stop()
            raise

    def first(self, row, timeout):
        """Measures fresh processes: (microseconds of the first call, seconds from the launch to its result)."""
        begin = time.perf_counter()
        self.launch(["--first", row])
        try:
            line = self.read_line(time.monotonic() + timeout).decode().split()
            seconds = time.perf_counter() - begin
        except TimeoutError:
            raise sides.Failed(f"hung (over {timeout:.0f} s)") from None
        finally:
            self.stop()
        if not line or line[0] != "ok":
            raise sides.Failed("ended")
        return float(line[1]), seconds


class Alone(Group):
    """One process."""

    def stop(self):
        if self.process:
            self.process.stdin.close()
        end(self)


class Launched(Group):
    """Processes of one launcher. Requests come to each through a named pipe."""

    def __init__(self, processes, command, environment, log):
        super().__init__(command, dict(environment, **LAUNCHER), log)
        self.processes, self.pipes, self.folder = processes, [], None

    def launch(self, mode):
        if mode == ["--serve"]:
            self.folder = tempfile.TemporaryDirectory()
            name = self.folder.name + "/requests"
            for p in range(self.processes):
                os.mkfifo(f"{name}{p}")
                self.pipes.append(os.open(f"{name}{p}", os.O_RDWR))  # opens the pipe without waiting for a reader
            mode = ["--serve", name]
        self.process = subprocess.Popen(["mpirun", "-n", str(self.processes)] + self.command + mode, env=self.environment,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.log, bufsize=0)
        self.pending = b""

    def send(self, request):
        for pipe in self.pipes:
            os.write(pipe, request)

    def stop(self):
        for pipe in self.pipes:
            os.close(pipe)
        self.pipes = []
        end(self)
        if self.folder:
            self.folder.cleanup()
            self.folder = None


class JaxGroup(Group):
    """Processes of JAX, each with `cores` of its own if these are given."""

    def __init__(self, processes, devices, command, environment, log, cores=None):
        super().__init__(command, environment, log)
        self.processes, self.devices, self.cores, self.all = processes, devices, cores, []

    def launch(self, mode):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            coordinator = f"127.0.0.1:{s.getsockname()[1]}"
        for p in range(self.processes):
            place = [coordinator, str(self.processes), str(p), str(self.devices)]
            bind = (lambda p=p: os.sched_setaffinity(0, self.cores[p])) if self.cores else None
            self.all.append(subprocess.Popen(self.command + place + mode, env=self.environment, stdin=subprocess.PIPE,
                                             stdout=self.log if p else subprocess.PIPE, stderr=self.log, bufsize=0, preexec_fn=bind))
        self.process, self.pending = self.all[0], b""

    def send(self, request):
        for process in self.all:
            process.stdin.write(request)

    def stop(self):
        for process in self.all:
            process.kill()
        for process in self.all:
            process.wait()
        self.process, self.all = None, []


def end(group, seconds=10):
    """Lets the processes end by themselves if they can, because a killed launcher would leave its processes behind."""
    process, group.process = group.process, None
    if process is None:
        return
    for how in (lambda: None, process.terminate, process.kill):
        how()
        try:
            process.wait(seconds)
            return
        except subprocess.TimeoutExpired:
            pass


def shares_of_cores(processes):
    """A set of cores for each process; None where there are fewer."""
    cores = sorted(os.sched_getaffinity(0))
    each = len(cores) // processes
    return [set(cores[p * each:(p + 1) * each]) for p in range(processes)] if each else None
