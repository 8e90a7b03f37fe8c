"""The measurements as text: one line a row while they run, and the tables of docs/performance.md."""

import machine
import rows as row_table


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
        f"Measured on {result['date']} with {versions}: {result['rounds']} rounds of {result['seconds']} s a side and row, medians, in "
        f"{result['minutes']:.0f} minutes.",
        f"The machine: {cpu['cores']} cores, {cpu['model']} ({', '.join(cpu['flags'])}); other work took {100 * result['others']:.0f} % of "
        f"them.",
        f"Its limits, measured in the same run: fused multiply-adds {limits['fma'][1]:.0f} GFLOP/s from one core, {limits['fma'][cores]:.0f} "
        f"from all; a triad with streaming stores {limits['triad'][1]:.0f} and {limits['triad'][cores]:.0f} GB/s.",
    ]
    if shared(result):
        lines.append("**It was shared with other work**, so wall times and their ratios say little; the ratio of processor time is beside them.")
    if "no_torch" in result:
        lines.append(f"LibTorch was left out: {result['no_torch']}.")
    return lines


def shared(result):
    """Whether others kept the cores busy."""
    return result["others"] > machine.BUSY


def markdown(result):
    lines = heading(result)
    cpu = shared(result)
    for group, rows in row_table.GROUPS.items():
        rows = [r for r in rows if r.name in result["rows"]]
        if not rows:
            continue
        torch, isolated = any(r.torch for r in rows), any(r.shares for r in rows)
        names = ["row", "Tessera"] + ["isolated"] * isolated + ["JAX"] + ["LibTorch"] * torch
        names += ["JAX / Tessera"] + ["LibTorch / Tessera"] * torch
        names += ["CPU: JAX / Tessera"] * cpu + ["what profiling says"]
        lines += ["", f"### {group}", "", "| " + " | ".join(names) + " |", "|---|" + "---:|" * (len(names) - 2) + "---|"]
        for row in rows:
            sides = result["rows"][row.name]
            ours, jax, other = sides["tessera"], sides.get("jax"), sides.get("torch")
            cells = [row.title, cell(row, ours, rate=True)] + [cell(row, sides.get("isolated"))] * isolated
            cells += [cell(row, jax)] + [cell(row, other)] * torch
            cells += [ratio(jax, row.goal)] + [ratio(other, 1.0)] * torch
            cells += [factor(jax["cpu_ratio"]) if jax and "cpu_ratio" in jax else ""] * cpu + [row.note]
            lines.append("| " + " | ".join(cells) + " |")
    lines += devices(result)
    if "peak_bytes" in result:
        peaks = result["peak_bytes"]
        names = {"tessera": "Tessera", "jax": "JAX (the largest of its processes)", "torch": "LibTorch"}
        lines += ["", "Peak memory of the processes that ran all rows: "
                  + ", ".join(f"{names[n]} {v / 1e9:.2f} GB" for n, v in peaks.items()) + "."]
    return "\n".join(lines) + "\n"


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
    """Replaces what is between the markers of that name."""
    markers = [f"<!-- {name}: {which} -->" for which in ("begin", "end")]
    before, begin, rest = path.read_text().partition(markers[0])
    _, end, after = rest.partition(markers[1])
    if not begin or not end:
        raise SystemExit(f"error: {path} has no lines {' and '.join(markers)}")
    path.write_text(f"{before}{begin}\n{text}{end}{after}")
