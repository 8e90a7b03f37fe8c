"""The common part of the peers' programs: reads requests from standard input and times calls.

`--serve` reads "time ROW SECONDS" lines and answers "ok WALL_US CPU_US" or "error TEXT"; `--first ROW` makes the row, runs it once and
prints the microseconds of that call; `--peak ROW` runs it five times, for the memory that takes. A row may have several forms, each named
behind it: ROW@FORM. The forms of one row are kept between requests, so that its rounds neither make data nor compile anew.
"""

import contextlib
import resource
import statistics
import sys
import time


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def time_calls(call, budget):
    """Wall time, the median over batches of calls that last about `budget` seconds together; CPU time of all threads."""
    clock = time.perf_counter
    start = clock()
    call()
    batch = max(1, int(budget / 8 / max(clock() - start, 1e-7)))
    times, cpu, begin = [], cpu_seconds(), clock()
    while not times or clock() - begin < budget:
        start = clock()
        for _ in range(batch):
            call()
        times.append((clock() - start) / batch)
    return statistics.median(times), (cpu_seconds() - cpu) / (batch * len(times))


def serve(make, around, forget):
    current, calls = None, {}  # the forms of one row
    for line in sys.stdin:
        _, name, budget = line.split()
        try:
            if name.partition("@")[0] != current:
                calls = {}
                current = name.partition("@")[0]
                forget()
            with around(name):
                if name not in calls:
                    call = make(name)
                    call()
                    call()
                    calls[name] = call
                wall, cpu = time_calls(calls[name], float(budget))
            print(f"ok {wall * 1e6:.4f} {cpu * 1e6:.4f}", flush=True)
        except Exception as e:  # a row that the peer cannot run is reported, and the others continue
            print("error", " ".join(str(e).split()) or type(e).__name__, flush=True)


def once(name, calls, make, around):
    with around(name):
        call = make(name)
        start = time.perf_counter()
        call()
        print(f"ok {(time.perf_counter() - start) * 1e6:.4f}", flush=True)
        for _ in range(calls - 1):
            call()


def main(make, around=lambda name: contextlib.nullcontext(), forget=lambda: None):
    """make(ROW) gives a call, its results waited for; around(ROW) is entered for what is made and timed; forget() between rows."""
    if sys.argv[1] == "--serve":
        serve(make, around, forget)
    else:
        once(sys.argv[2], {"--first": 1, "--peak": 5}[sys.argv[1]], make, around)
