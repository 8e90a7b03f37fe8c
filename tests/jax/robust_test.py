"""Threads, forks, memory over many compilations and calls, and the end of the process in every state: robust_test.py [--long].

With --long there are ten times as many compilations and calls. Programs that end or fork are processes of their own, with a time limit."""
import concurrent.futures
import gc
import os
import signal
import subprocess
import sys
import threading
import unittest
import weakref

import jax
import jax.numpy as jnp
import jaxlib
import numpy as np

import check

LONG = "--long" in sys.argv[1:]
LIMIT = 300  # seconds for a process, which takes one or two

# `slow` takes long enough that a call returns before it is done.
BEGIN = """
import atexit, gc, os, signal, sys, threading, time, warnings
warnings.simplefilter("ignore")  # of JAX, that forks are risky
import jax, jax.numpy as jnp, numpy as np
big = jnp.ones((700, 700))
@jax.jit
def slow(x):
    for _ in range(8): x = x @ x / 700
    return x
slow(big).block_until_ready()
def show(x): print(x, flush=True)
def called(f): return jax.jit(lambda x: jax.pure_callback(f, jax.ShapeDtypeStruct((), np.float32), x))
def reported(f): return jax.jit(lambda x: jax.debug.callback(f, x.sum()))
"""


def start(program):
    """The exit status, standard output and the last line of standard error of a program; the status is "hangs" past the limit."""
    process = subprocess.Popen([sys.executable, "-c", BEGIN + program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=check.environment(), start_new_session=True)
    try:
        out, err = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # with what it has forked
        out, err = process.communicate()
        return "hangs", out, err
    return process.returncode, out, (err.strip().splitlines() or [""])[-1]


class Programs(unittest.TestCase):
    """Has in ALL, by name, a program, its exit status, output and last line of stderr. All run, some at a time."""
    ALL = {}

    @classmethod
    def setUpClass(cls):
        with concurrent.futures.ThreadPoolExecutor(max(2, len(os.sched_getaffinity(0)))) as pool:
            cls.ended = dict(zip(cls.ALL, pool.map(start, (program for program, *_ in cls.ALL.values()))))

    def check_all(self):
        for name, (_, status, out, err) in self.ALL.items():
            with self.subTest(name):
                check.equal(self.ended[name], (status, out, err), name)


EXITS = {
    "a computation is pending": ("y = slow(big); show('end')", 0, "end\n", ""),
    "many are": ("ys = [slow(big + i) for i in range(20)]; show('end')", 0, "end\n", ""),
    "one whose memory is donated": ("y = jax.jit(lambda x: x @ x, donate_argnums=0)(slow(big) + 0); show('end')", 0, "end\n", ""),
    "sys.exit": ("y = slow(big); show('end'); sys.exit(4)", 4, "end\n", ""),
    "os._exit": ("y = slow(big); show('end'); os._exit(3)", 3, "end\n", ""),
    "an error": ("y = slow(big); raise ValueError('end')", 1, "", "ValueError: end"),
    "a signal": ("y = slow(big); show('end'); os.kill(os.getpid(), signal.SIGTERM); signal.pause()", -15, "end\n", ""),
    "an interrupt": ("y = slow(big)\nsignal.signal(signal.SIGINT, signal.default_int_handler)\ntry: os.kill(os.getpid(), signal.SIGINT); signal.pause()\nexcept KeyboardInterrupt: show('end')", 0, "end\n", ""),
    "arrays live": ("keep = [jnp.ones(i) for i in range(100)]; views = [np.asarray(k) for k in keep]; show('end')", 0, "end\n", ""),
    "a view outlives its array": ("x = jnp.arange(3); n = np.from_dlpack(x); del x; show(n)", 0, "[0 1 2]\n", ""),
    "computing in atexit": ("atexit.register(lambda: show(float(slow(big)[0, 0]))); show('end')", 0, "end\n1.0\n", ""),
    "compiling in atexit": ("atexit.register(lambda: show(float(jax.jit(lambda x: x + 41)(1.0)))); show('end')", 0, "end\n42.0\n", ""),
    "the clients are gone": ("import jax.extend; y = slow(big); jax.extend.backend.clear_backends(); show('end')", 0, "end\n", ""),
    "callbacks live": ("f = called(lambda v: v + 1); show(float(f(1.0)))", 0, "2.0\n", ""),
    "a callback is pending": ("f = reported(lambda v: (e.wait(), show('called'))); e = threading.Event(); f(slow(big)); show('end'); e.set()", 0, "end\ncalled\n", ""),
    "it waits for atexit": ("e = threading.Event(); f = reported(lambda v: (e.wait(), None)[1]); f(slow(big)); atexit.register(e.set); show('end')",
                            0, "end\n", ""),
    "it fails": ("e = threading.Event(); reported(lambda v: (e.wait(), 1 / 0))(slow(big)); show('end'); e.set()", 0, "end\n", "ZeroDivisionError: division by zero"),
    "sys.exit in a callback": ("try: called(lambda v: sys.exit(5))(1.0).block_until_ready()\nexcept Exception as e: show(type(e).__name__)\nshow('end')",
                               0, "JaxRuntimeError\nend\n", "SystemExit: 5"),
    "nobody expects it": ("jax.config.update('jax_traceback_filtering', 'off'); called(lambda v: sys.exit(5))(1.0).block_until_ready()", 1, "", "SystemExit: 5"),
    "os._exit in a callback": ("called(lambda v: os._exit(6))(1.0).block_until_ready()", 6, "", ""),
    "another thread goes on": ("e = threading.Event(); threading.Thread(target=lambda: (e.wait(), show(float(slow(big)[0, 0])))).start(); show('end'); e.set()",
                               0, "end\n1.0\n", ""),
    "os._exit in another thread": ("t = threading.Thread(target=lambda: (slow(big), os._exit(7))); t.start(); t.join()", 7, "", ""),
    "sys.exit in another thread": ("t = threading.Thread(target=lambda: (slow(big), sys.exit(7))); t.start(); t.join(); show('end')", 0, "end\n", ""),
}

FORKED = """
signal.alarm(60)
pid = os.fork()
if pid == 0:
    signal.alarm(30)
    try: {}
    except RuntimeError as e: show(str(e).splitlines()[0])
    sys.exit(8)
show(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
show(float(slow(big)[0, 0]))
"""
# jaxlib 0.10.2 compiles on threads, which a process that was forked lacks.
COMPILED = "7.0" if jaxlib.version.__version_info__ >= (0, 11) else "jax_tessera: a process that was forked from one that uses JAX compiles a program"
FORKS = {
    "the child ends": (FORKED.format("pass"), 0, "8\n1.0\n", ""),
    "while a computation is pending": ("y = slow(big)" + FORKED.format("pass") + "show(float(y[0, 0]))", 0, "8\n1.0\n1.0\n", ""),
    "while callbacks are": ("f = called(lambda v: np.sort(np.full(10**5, v + 1))[0]); y = [f(float(i)) for i in range(20)]" + FORKED.format("pass") +
                            "show(float(y[-1]))", 0, "8\n1.0\n20.0\n", ""),
    "the child reads": ("y = jnp.arange(3) + 1" + FORKED.format("show(np.asarray(y))"), 0, "[1 2 3]\n8\n1.0\n", ""),
    "the child computes": ("y = jnp.ones((700, 700))" + FORKED.format("show(np.asarray(slow(y))[0, 0])"), 0, "1.0\n8\n1.0\n", ""),
    "the child compiles": (FORKED.format("show(float(jax.jit(lambda x: x * 3 + 1)(2.0)))"), 0, COMPILED + "\n8\n1.0\n", ""),
    "a pool": ("import multiprocessing as m; show(m.get_context('fork').Pool(2).map(abs, [-1, -2])); show(float(slow(big)[0, 0]))", 0, "[1, 2]\n1.0\n", ""),
}


class Exits(Programs):
    ALL = EXITS

    def test_all(self):
        self.check_all()


class Daemons(Programs):
    """Threads that Python ends at its own end, wherever they are. jaxlib may crash at that, so that only hangs are mistakes."""
    ALL = {body: (f"""
runs = threading.Semaphore(0)
def run():
    while True: {body}; runs.release()
threading.Thread(target=run, daemon=True).start()
for _ in range(3): runs.acquire()
show('end')""",)
           for body in ("slow(big)", "jax.jit(lambda x: x * time.monotonic())(1.0)", "called(lambda v: v + 1)(1.0)")}

    def test_all(self):
        for body, (status, out, err) in self.ended.items():
            check.true(status in (0, -signal.SIGABRT, -signal.SIGSEGV) and out == "end\n", f"{body}: {status} {out} {err}")


class Forks(Programs):
    ALL = FORKS

    def test_all(self):
        self.check_all()


class Threads(unittest.TestCase):
    def test_two_threads(self):
        wrong = []
        begin = threading.Barrier(2)

        def work(t):
            rng = np.random.default_rng(t)
            shared = jax.jit(lambda x: jnp.sum(x * x))
            begin.wait()
            for i in range(40):
                x = rng.integers(-9, 9, (t + 2, i + 1)).astype(np.float32)
                own = jax.jit(lambda v: (v * (i + 2 + 100 * t)).T)(x)
                taken = jax.jit(lambda v: v + 1, donate_argnums=0)(jnp.asarray(x))
                for got, want in ((own, (x * (i + 2 + 100 * t)).T), (shared(x), np.sum(x * x)), (taken, x + 1)):
                    if not np.array_equal(got, want):
                        wrong.append((t, i, got, want))

        threads = [threading.Thread(target=work, args=(t,)) for t in range(2)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        check.true(not wrong, str(wrong[:1]))

    def test_one_function(self):
        calls = []

        def count(v):
            calls.append(threading.get_ident())
            return v + 1

        f = jax.jit(lambda x: jax.pure_callback(count, jax.ShapeDtypeStruct((), np.float32), x) * 2)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            results = list(pool.map(lambda i: float(f(np.float32(i))), range(100)))
        check.equal(results, [2.0 * (i + 1) for i in range(100)])
        check.equal(len(calls), 100)


def megabytes():
    """Of memory that the process has, without what the system has of its files."""
    gc.collect()
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon:")) / 1024


class Memory(unittest.TestCase):
    COMPILATIONS, CALLS = (10_000, 100_000) if LONG else (1_000, 10_000)
    ROOM = 24  # megabytes

    def growth(self, n, step):
        """By how many megabytes memory grows in the second half of n steps."""
        device = jax.devices()[0]
        gc.collect()
        arrays, live = len(jax.live_arrays()), device.memory_stats()["bytes_in_use"]
        for i in range(n // 2):
            step(i)
        half = megabytes()
        for i in range(n // 2, n):
            step(i)
        growth = megabytes() - half
        print(f"{growth:.1f} MB in the second half of {n} steps", flush=True)
        check.equal(len(jax.live_arrays()), arrays, "arrays")
        check.equal(device.memory_stats()["bytes_in_use"], live, "bytes of arrays")
        return growth

    def test_compilations(self):
        def step(i):
            n = i % 2000 + 1
            check_sum = jax.jit(lambda x: jnp.sum(x * (i // 2000 + 1)))(np.ones(n, np.float32))
            assert check_sum == n * (i // 2000 + 1)
            if i % 50 == 49:
                jax.clear_caches()

        check.true(self.growth(self.COMPILATIONS, step) < self.ROOM, "compilations")

    def test_calls(self):
        f, taking = jax.jit(lambda x, y: (x + y, x - y)), jax.jit(lambda x: x + 1, donate_argnums=0)
        x = jnp.ones(1000)
        state = [jnp.zeros(1000)]

        def step(i):
            f(x, x)
            state[0] = taking(state[0])

        check.true(self.growth(self.CALLS, step) < self.ROOM, "calls")
        check.equal(state[0], np.full(1000, self.CALLS, np.float32))

    def test_callbacks(self):
        kept = []

        class Callback:
            def __call__(self, v):
                return v + 1

        def step(i):
            callback = Callback()
            kept.append(weakref.ref(callback))
            f = jax.jit(lambda x: jax.pure_callback(callback, jax.ShapeDtypeStruct((), np.float32), x))
            assert f(np.float32(i)) == i + 1
            if i % 50 == 49:
                del f, callback
                jax.clear_caches()

        check.true(self.growth(self.COMPILATIONS // 4, step) < self.ROOM, "callbacks")
        step(0)  # what was forgotten is removed when the next one is added
        gc.collect()
        check.equal(sum(ref() is not None for ref in kept[:-1]), 0, "callbacks that are still alive")


if __name__ == "__main__":
    # Programs that nobody has any more are kept for a while; here for a short one.
    if "TESSERA_PROGRAM_CACHE_MB" not in os.environ:
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "TESSERA_PROGRAM_CACHE_MB": "1"})
    check.main()
