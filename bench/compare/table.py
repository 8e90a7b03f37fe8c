"""Writes the measurements as text: one line per row while they run, and the tables of docs/performance.md."""

import statistics

import limits as peaks
import machine
import rows as row_table
import work

SIDES = {"tessera": "Tessera", "isolated": "isolated", "jax": "JAX", "eager": "PyTorch, eager", "compiled": "torch.compile",
         "libtorch": "PyTorch from C++"}
TORCH = ("eager", "compiled", "libtorch")
LEVEL = 0.97  # from this ratio of a peer's time to ours on, they count as equal


def amount(value, kind):
    if kind == "peak":
        return f"{value / 1e6:.0f} MB"
    for scale, unit in ((1e6, "s"), (1e3, "ms"), (1, "us")):
        if value >= scale or unit == "us":
            return f"{value / scale:.3g} {unit}" if value / scale < 999.5 else f"{value / scale:.0f} {unit}"
    return ""


def cell(row, side, rate=False):
    if side is None:
        return ""
    if "median" not in side:
        return side.get("error", "")
    text = amount(side["median"], row.kind) + (f", {side['form']}" if "form" in side else "")
    if rate and row.amount:
        text += f" ({row.amount / (side['median'] * 1e-6):.3g} {row.unit})"
    return text


def factor(x):
    return f"{x:.2g}" if x < 99.5 else f"{x:.0f}"


def ratio(side, goal=0.0):
    if not side or "ratio" not in side:
        return ""
    return f"**{factor(side['ratio'])}**" if side["ratio"] < goal else factor(side["ratio"])


def progress(row, result):
    parts = [f"{n} {cell(row, s)}" + (f" ({s['ratio']:.2f}, CPU {s.get('cpu_ratio', 0):.2f})" if "ratio" in s else "")
             for n, s in result.items()]
    return f"{row.name:24s} " + "; ".join(parts)


def heading(result):
    cpu, limits = result["cpu"], result["limits"]
    cores = max(limits["fma"])
    versions = ", ".join(f"{k} {v}" for k, v in result["versions"].items())
    lines = [
        f"Measured on {result['date']} with {versions}: {result['rounds']} rounds of {result['seconds']} s a side and row (a third of "
        f"that where a call takes less than 1 ms), medians, in {result['minutes']:.0f} minutes.",
        f"The machine: {cpu['cores']} cores, {cpu['model']} ({', '.join(cpu['flags'])}); other work took {100 * result['others']:.0f} % of "
        f"them.",
        f"Its limits, measured in the same run: fused multiply-adds {limits['fma'][1]:.0f} GFLOP/s from one core, {limits['fma'][cores]:.0f} "
        f"from all{narrow(limits, cores)}; a triad of arrays that no cache holds {limits['triad'][1]:.0f} and {limits['triad'][cores]:.0f} GB/s.",
    ]
    if shared(result):
        lines.append("**It was shared with other work**, so wall times and their ratios say little; the ratio of processor time is beside them.")
    return lines


def narrow(limits, cores):
    """The machine's peak for types other than float32."""
    names = {"bf16": "products of bfloat16 with float32 sums", "int32": "products and sums of int32"}
    return "".join(f", {title} {limits[name][cores]:.0f}" for name, title in names.items() if name in limits)


def bandwidths(limits):
    """The speed at which all cores read, write and copy, by the bytes of all arrays."""
    cores = max(limits["fma"])
    patterns = [p for p in ("read", "write", "copy", "triad") if p in limits["bandwidth"]]
    sizes = [size for size, _ in limits["bandwidth"]["triad"][cores]]
    lines = ["| GB/s, all cores | " + " | ".join(f"{s >> 10} KB" if s < 1 << 20 else f"{s >> 20} MB" for s in sizes) + " |",
             "|---|" + "---:|" * len(sizes)]
    return lines + [f"| {p} | " + " | ".join(f"{x:.0f}" for _, x in limits["bandwidth"][p][cores]) + " |" for p in patterns]


def page(result):
    """The page of docs with the table for such a processor."""
    return "performance.md" if "avx512f" in result["cpu"]["flags"] and not result.get("isa") else "performance_avx2.md"


def kept_to(result):
    """A sentence about a run in which no side used the newest instructions of the processor."""
    name = result["isa"].upper()
    return (f"No side may use instructions newer than {name}, and the machine's limits are those of {name}. XLA's products and convolutions do "
            "not obey this, so ratios to JAX say little where most of the time is theirs.")


def shared(result):
    """Whether other work kept the cores busy."""
    return result["others"] > machine.BUSY


def fastest(sides):
    """The one of PyTorch's sides with the smallest median."""
    return min((sides[n] for n in TORCH if "median" in sides.get(n, {})), key=lambda side: side["median"], default=None)


def limit(row, side, limits):
    """The time that the machine needs at least, and its share of the time taken."""
    least = work.of(row.name)
    if isinstance(least, str):
        return ""
    time = peaks.microseconds(least, limits)
    return amount(time, row.kind) + (f" ({100 * time / side['median']:.0f} %)" if "median" in side else "")


def markdown(result):
    lines = heading(result) + (["", kept_to(result)] if result.get("isa") else []) + ["", *bandwidths(result["limits"])]
    for group, rows in row_table.GROUPS.items():
        rows = [r for r in rows if r.name in result["rows"]]
        if rows:
            lines += ["", f"### {group}", "", *of_group(rows, result)]
    lines += devices(result) + summary(result)
    if "peak_bytes" in result:
        peaks_of = {SIDES[n]: v for n, v in result["peak_bytes"].items() if v}
        lines += ["", "Peak memory of the processes that ran all rows (of JAX the largest): "
                  + ", ".join(f"{n} {v / 1e9:.2f} GB" for n, v in peaks_of.items()) + "."]
    return "\n".join(lines) + "\n"


def of_group(rows, result):
    """A table of the sides that any of its rows has, and why rows have no limit."""
    every = [result["rows"][r.name] for r in rows]
    shown = [n for n in SIDES if n == "tessera" or any(n in sides for sides in every)]
    torch = any(n in TORCH for n in shown)
    reasons = {r.name: work.of(r.name) for r in rows if isinstance(work.of(r.name), str)}
    limited = len(reasons) < len(rows)
    cpu = shared(result)
    names = ["row", *(SIDES[n] for n in shown)] + ["limit (reached)"] * limited + ["JAX / Tessera"]
    names += ["PyTorch / Tessera"] * torch + ["CPU: JAX / Tessera"] * cpu + ["what profiling says"]
    lines = ["| " + " | ".join(names) + " |", "|---|" + "---:|" * (len(names) - 2) + "---|"]
    for row, sides in zip(rows, every):
        ours, jax = sides["tessera"], sides.get("jax")
        cells = [row.title] + [cell(row, sides.get(n), rate=n == "tessera") for n in shown]
        cells += [limit(row, ours, result["limits"])] * limited + [ratio(jax, row.goal)] + [ratio(fastest(sides), LEVEL)] * torch
        cells += [factor(jax["cpu_ratio"]) if jax and "cpu_ratio" in jax else ""] * cpu + [row.note]
        lines.append("| " + " | ".join(cells) + " |")
    without = {}
    for row in rows:
        if row.name in reasons:
            without.setdefault(reasons[row.name], []).append(row.title)
    if without and limited:
        lines += ["", "Rows without a limit: " + ". ".join(f"{', '.join(titles)}: {why}" for why, titles in without.items()) + "."]
    elif without:
        lines += ["", "None of these has a limit: " + "; ".join(without) + "."]
    return lines


def summary(result):
    """How far behind the peers are overall, and the rows in which one is ahead."""
    titles = {r.name: r.title for rows in row_table.GROUPS.values() for r in rows if r.kind != "peak"}
    ratios = {"JAX": {}, "PyTorch": {}}
    for name, sides in result["rows"].items():
        for peer, side in (("JAX", sides.get("jax")), ("PyTorch", fastest(sides))):
            if side and "ratio" in side and name in titles:
                ratios[peer][name] = side["ratio"]
    lines = []
    for peer, of_rows in ratios.items():
        if of_rows:
            behind = [f"{titles[n]} ({factor(x)})" for n, x in of_rows.items() if x < LEVEL]
            lines += ["", f"{peer} takes {factor(statistics.geometric_mean(of_rows.values()))} times as long over {len(of_rows)} rows (geometric "
                      f"mean); less by more than 3 % in {len(behind)}" + (": " + ", ".join(behind) if behind else "") + "."]
    return ["", "### All rows"] + lines if lines else []


def devices(result):
    """The same work on more virtual devices."""
    def over(side, a, b):
        x, y = (result["rows"].get(n, {}).get(side, {}).get("median") for n in (a, b))
        return x / y if x and y else None

    lines = []
    for a, b, goal, title in row_table.DEVICES:
        mine, theirs = over("tessera", a, b), over("jax", a, b)
        if mine:
            text = f"{mine:.2f}" if mine <= goal else f"**{mine:.2f}**"
            lines.append(f"| {title} | {text} | {f'{theirs:.2f}' if theirs else ''} | {goal} |")
    if lines:
        lines = ["", "### The same batch on more devices", "", "| time of a step | Tessera | JAX | goal |", "|---|---:|---:|---:|"] + lines
    return lines


def write_into(path, text, name="compare"):
    """Replaces the text between the markers of that name."""
    markers = [f"<!-- {name}: {which} -->" for which in ("begin", "end")]
    before, begin, rest = path.read_text().partition(markers[0])
    _, end, after = rest.partition(markers[1])
    if not begin or not end:
        raise SystemExit(f"error: {path} has no lines {' and '.join(markers)}")
    path.write_text(f"{before}{begin}\n{text}{end}{after}")
