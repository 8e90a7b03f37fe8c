"""The least time that the machine needs for a row's work, from what limits_bench measured."""

import bisect
import math

import sides


def measured(folder, isa=None):
    """{"fma": {cores: GFLOP/s}, "bf16": the same of bfloat16 where the processor has it, "int32": of int32, "triad": {cores: GB/s of arrays
    that no cache holds}, "bandwidth": {pattern: {cores: [(bytes, GB/s), ...]}}}, by rising bytes; with no instructions newer than `isa`."""
    return parsed(sides.run([folder / "limits_bench", *([isa] if isa else [])]))


def parsed(text):
    arithmetic, bandwidth = {"fma": {}}, {}
    for line in text.splitlines():
        name, cores, *numbers = line.split()
        if len(numbers) == 1:
            arithmetic.setdefault(name, {})[int(cores)] = float(numbers[0])
        else:
            bandwidth.setdefault(name, {}).setdefault(int(cores), []).append((int(numbers[0]), float(numbers[1])))
    triad = {cores: curve[-1][1] for cores, curve in bandwidth["triad"].items()}
    return {**arithmetic, "triad": triad, "bandwidth": bandwidth}


def at(curve, size):
    """The speed at that many bytes, from [(bytes, GB/s), ...]: interpolated linearly over the logarithm of the size."""
    sizes = [s for s, _ in curve]
    i = bisect.bisect(sizes, size)
    if i in (0, len(curve)):
        return curve[min(i, len(curve) - 1)][1]
    (a, x), (b, y) = curve[i - 1:i + 1]
    return x + (y - x) * math.log(size / a) / math.log(b / a)


def pattern(work):
    """The measured pattern whose share of reads and writes is nearest."""
    if not work.written:
        return "read"
    if not work.read:
        return "write"
    return "copy" if work.read < 1.5 * work.written else "triad"


def microseconds(work, limits):
    """The least time on all cores: the longer of the arithmetic at its peak, and the bytes at the speed of a working set of that size."""
    cores = max(limits["fma"])
    size = work.read + work.written
    peak = limits.get(work.unit, limits["fma"])[cores]
    arithmetic = work.flops / peak * 1e-3 if peak else 0.0
    curves = limits["bandwidth"]
    curve = curves.get(pattern(work), curves["triad"])[cores]
    return max(arithmetic, size / at(curve, size) * 1e-3 if size else 0.0)
