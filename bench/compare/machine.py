"""Describes the machine that is measured, and how much of it other work used meanwhile."""

import os
import pathlib
import re
import resource
import time

BUSY = 0.1  # if others use this share of the cores or more, times mean little


def cpu():
    try:
        info = pathlib.Path("/proc/cpuinfo").read_text()
    except OSError:
        return {"model": "unknown", "cores": os.cpu_count(), "flags": []}
    model = re.search(r"^model name\s*: (.*)", info, re.M)
    flags = set((re.search(r"^flags\s*: (.*)", info, re.M) or [None, ""])[1].split())
    wanted = ("avx2", "fma", "avx512f", "avx512_vnni", "avx512_bf16", "amx_tile")
    return {"model": model[1] if model else "unknown", "cores": os.cpu_count(), "flags": [f for f in wanted if f in flags]}


def busy_seconds():
    """The busy time of all cores since the machine started, including time that a host took from a virtual machine."""
    words = pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    user, nice, system, _, _, irq, soft, steal = (int(x) for x in words[:8])
    return (user + nice + system + irq + soft + steal) / os.sysconf("SC_CLK_TCK")


def own_seconds():
    """The processor time of this process and of its children that have ended."""
    usages = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return sum(u.ru_utime + u.ru_stime for u in usages)


class Others:
    """Measures the share of the cores that other work uses from now on."""

    def __init__(self):
        self.start, self.busy, self.own = time.monotonic(), busy_seconds(), own_seconds()

    def share(self):
        """The share so far. Call it when the processes that were started have ended."""
        seconds = max(1e-9, time.monotonic() - self.start) * os.cpu_count()
        return max(0.0, (busy_seconds() - self.busy - (own_seconds() - self.own)) / seconds)


def others_now(seconds=3):
    others = Others()
    time.sleep(seconds)
    return others.share()
