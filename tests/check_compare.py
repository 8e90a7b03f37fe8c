"""Tests the arithmetic and the texts of bench/compare without the libraries that it compares: check_compare.py ROOT FOLDER."""
import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True
root, folder = (pathlib.Path(a).resolve() for a in sys.argv[1:3])
folder.mkdir(parents=True, exist_ok=True)
sys.path.insert(0, str(root / "bench/compare"))

import gate  # noqa: E402
import limits  # noqa: E402
import rounds  # noqa: E402
import rows  # noqa: E402
import sides  # noqa: E402
import table  # noqa: E402
import work  # noqa: E402


def expect(got, want, what):
    if got != want:
        sys.exit(f"{what}: got\n{got!r}, expected\n{want!r}")


def check_limits():
    """Speeds between measured sizes are interpolated; beyond them the nearest measured speed counts."""
    text = "fma 1 50.0\nbf16 1 100.0\nfma 2 100.0\nbf16 2 200.0\n"
    for name, speeds in (("read", (80, 40)), ("write", (40, 20)), ("copy", (60, 30)), ("triad", (64, 32))):
        text += "".join(f"{name} {cores} {size} {speed * cores / 2}\n" for cores in (1, 2) for size, speed in zip((1024, 4096), speeds))
    of = limits.parsed(text)
    expect(of["fma"], {1: 50.0, 2: 100.0}, "multiply-adds")
    expect(of["triad"], {1: 16.0, 2: 32.0}, "triads that no cache holds")
    expect([limits.at(of["bandwidth"]["read"][2], n) for n in (1, 1024, 2048, 4096, 10**9)], [80, 80, 60, 40, 40], "speeds")
    patterns = {"read": (8, 0), "write": (0, 8), "copy": (8, 8), "triad": (16, 8)}
    for name, (read, written) in patterns.items():
        expect(limits.pattern(work.Work(0, read, written)), name, "a pattern")
    expect(limits.microseconds(work.Work(0, 2048, 2048), of), 4096 / 30 * 1e-3, "bytes")
    expect(limits.microseconds(work.Work(1e6, 2048, 2048), of), 10.0, "flops")
    expect(limits.microseconds(work.Work(1e6, 2048, 2048, "bf16"), of), 5.0, "flops of bfloat16")
    expect(limits.microseconds(work.Work(1e6, 2048, 2048, "int32"), of), 10.0, "flops whose peak is not known")
    expect(table.narrow(of, 2), ", products of bfloat16 with float32 sums 200", "other peaks")
    return of


def check_work():
    """The work of convolutions equals a count over every position."""
    for size, window, stride in ((8, 3, 1), (8, 3, 2), (7, 3, 2), (8, 1, 1), (9, 4, 3)):
        out = -(-size // stride)
        padding = max((out - 1) * stride + window - size, 0)
        padded = [0] * (padding // 2) + [1] * size + [0] * (padding - padding // 2)
        counted = sum(sum(padded[i * stride:i * stride + window]) for i in range(out))
        expect(work.taps(size, window, stride), counted, f"places of windows of {window} over {size}")
    expect(work.product(2, 3, 4), work.Work(48, 4 * 18, 4 * 8), "a product")
    expect(work.product(2, 3, 4, size=2, unit="bf16"), work.Work(48, 2 * 18, 2 * 8, "bf16"), "a product of bfloat16")
    for row in (r for group in rows.GROUPS.values() for r in group):
        work.of(row.name)  # raises KeyError if a row has neither work nor a reason


def check_table(of):
    """The table of a group of two rows, one with a limit: one peer is ahead by more than 3 %, the other is not."""
    def side(*times, ratio=None):
        return {"rounds": [[t, t] for t in times], "median": times[0]} | ({"ratio": ratio, "cpu_ratio": ratio} if ratio else {})

    result = {"limits": of, "others": 0.0, "cpu": {"cores": 2, "model": "M", "flags": ["avx2"]}, "rows": {
        "op/sum_rows": {"tessera": side(2000.0), "jax": side(4000.0, ratio=2.0), "eager": side(1900.0, ratio=0.95),
                        "compiled": side(1960.0, ratio=0.98)},
        "op/sort_rows": {"tessera": side(10.0), "jax": {"error": "hung"}, "eager": side(30.0, ratio=3.0)}}}
    listed = [r for r in rows.GROUPS["Operations alone"] if r.name in result["rows"]]
    expect(table.of_group(listed, result), [
        "| row | Tessera | JAX | PyTorch, eager | torch.compile | limit (reached) | JAX / Tessera | PyTorch / Tessera | what profiling says |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---|",
        "| sum rows | 2 ms | 4 ms | 1.9 ms | 1.96 ms | 210 us (10 %) | 2 | **0.95** |  |",
        "| sort rows | 10 us | hung | 30 us |  |  |  | 3 |  |", "",
        f"Rows without a limit: sort rows: {work.ORDER}."], "a group of the table")
    expect(table.summary(result), [
        "", "### All rows", "",
        "JAX takes 2 times as long over 1 rows (geometric mean); less by more than 3 % in 0.", "",
        "PyTorch takes 1.7 times as long over 2 rows (geometric mean); less by more than 3 % in 1: sum rows (0.95)."], "the summary")
    expect(table.page(result), "performance_avx2.md", "the page")
    wide = {**result, "cpu": {**result["cpu"], "flags": ["avx2", "avx512f"]}}
    expect((table.page(wide), table.page({**wide, "isa": "avx2"})), ("performance.md", "performance_avx2.md"), "the page where there is AVX-512")
    two = sides.JaxSide(["x"], {"A": "1", **sides.AVX2["jax"]}, None).environment_of(2)
    expect(two, {"A": "1", "XLA_FLAGS": "--xla_cpu_max_isa=AVX2 --xla_force_host_platform_device_count=2"}, "JAX with two devices and AVX2")


def check_rounds():
    """A first call that takes long is run in half of the rounds; others, and steady calls, in all."""
    first, steady = (next(r for r in rows.GROUPS["Training"] if r.kind == kind) for kind in ("first", "steady"))
    expect([rounds.enough(first, [(5e6,)], i, 5) for i in range(1, 5)], [False, True, True, True], "a long first call")
    expect([rounds.enough(first, [(5e4,)], i, 5) for i in range(1, 5)], [False] * 4, "a short first call")
    expect(rounds.enough(first, [], 0, 1), False, "a first call that has not run")
    expect(rounds.enough(steady, [(5e6, 5e6)], 4, 5), False, "a steady call")


PROGRAM = """import sys
if "--serve" not in sys.argv:
    print("one/real_time")
    print("two/real_time")
    print("twofold/real_time")
    sys.exit()
for line in sys.stdin:
    _, row, _ = line.split()
    print("ok", {times}[row], 10.0, flush=True)
"""


def check_gate():
    expect(gate.interval([1.0, 1.0, 1.0]), (1.0, 1.0, 1.0), "equal rounds")
    low, middle, high = gate.interval([0.9, 1.0, 1.1, 1.0, 1.0])
    expect((0.9 <= low <= middle <= high <= 1.1, middle), (True, 1.0), "rounds that differ")
    cases = {((1.01, 1.02, 1.03), (1, 1, 1)): ("slower", False), ((1.04, 1.05, 1.06), (1, 1, 1)): ("SLOWER", True),
             ((0.5, 1.0, 2.0), (1.04, 1.05, 1.06)): ("SLOWER", True), ((0.8, 0.85, 0.9), (0.9, 0.95, 1.1)): ("faster", False),
             ((0.9, 1.0, 1.1), (0.9, 1.0, 1.1)): ("level", False)}
    for intervals, want in cases.items():
        expect(gate.verdict(*intervals, 0.03), want, f"the verdict of {intervals}")
    programs = []
    for name, times in (("old", {"one": 100.0, "two": 100.0}), ("same", {"one": 100.0, "two": 90.0}), ("slow", {"one": 100.0, "two": 110.0})):
        program = folder / name
        program.write_text(f"#!{sys.executable}\n" + PROGRAM.replace("{times}", repr(times)))
        program.chmod(0o755)
        programs.append(program)
    for new, code, last in ((programs[1], 0, "0 of 2 rows fail"), (programs[2], 1, "1 of 2 rows fail: two")):
        done = subprocess.run([sys.executable, root / "bench/compare/gate.py", "^(one|two)$", "--rounds", "3", "--programs", programs[0], new],
                              capture_output=True, text=True)
        expect((done.returncode, done.stdout.strip().rpartition("; ")[2]), (code, last), done.stdout + done.stderr)


if __name__ == "__main__":
    check_work()
    check_table(check_limits())
    check_rounds()
    check_gate()
