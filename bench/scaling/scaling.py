"""Makes the tables and the picture of docs/scaling.md: plans for up to 4,096 devices, and what the runtime keeps for devices.

    python3 bench/scaling/scaling.py             # prints; `ninja -C build/release scaling_plans scaling_bookkeeping rows_bench` before
    python3 bench/scaling/scaling.py --write     # puts it into docs/scaling.md and docs/images/scaling.svg

Plans need no particular machine. The runtime is measured here, so on a quiet machine, in up to 16 processes where a launcher is found.
"""

import argparse
import datetime
import json
import os
import pathlib
import shutil
import statistics
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
LEVELS = {"device": "inside a machine", "machine": "between machines", "rack": "between racks"}
DEVICES = (4, 96, 1024)  # the numbers of devices on which steps are timed
COLOURS = {"work": "#8c96a3", "device": "#3b7dd8", "machine": "#e0a030", "rack": "#c8453c"}


def text(x, unit):
    """The number with three digits, such as 1.23 GB or 45.6 ms."""
    if x == 0:
        return f"0 {unit}"
    steps = [(1, ""), (1e-3, "m"), (1e-6, "u"), (1e-9, "n")] if unit == "s" else [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1, "")]
    scale, prefix = next((s for s in steps if x >= 0.9995 * s[0]), steps[-1])
    x /= scale
    digits = 0 if prefix == "" and unit == "B" else 2 if x < 9.995 else 1 if x < 99.95 else 0
    return f"{x:.{digits}f} {prefix}{unit}"


def table(head, rows):
    lines = [head, ["---"] + ["---:"] * (len(head) - 1)] + rows
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def by_form(plans):
    forms = {}
    for p in plans:
        forms.setdefault(p["form"], []).append(p)
    return forms


def along(plan, axis):
    return plan["along"].get(axis, {"size": 1, "seconds": 0, "bytes": 0})


def links_table(plan):
    rows = [[f"`{axis}`", LEVELS[axis], text(a["latency"], "s"), text(a["bandwidth"], "B") + "/s"] for axis, a in reversed(plan["along"].items())]
    return table(["axis", "devices along it are", "latency", "a device receives"], rows)


def plan_table(plans):
    head = ["devices"] + [f"{p['devices']:,}" for p in plans]
    rows = [["racks x machines x devices"] + [" x ".join(str(along(p, axis)["size"]) for axis in reversed(LEVELS)) for p in plans]]

    def row(name, of):
        rows.append([name] + [of(p) for p in plans])

    row("**step**", lambda p: f"**{text(p['seconds'], 's')}**")
    row("work", lambda p: text(p["work"], "s"))
    for axis, name in LEVELS.items():
        row(f"collectives {name}", lambda p: text(along(p, axis)["seconds"], "s"))
    for axis, name in LEVELS.items():
        row(f"received {name}", lambda p: text(along(p, axis)["bytes"], "B"))
    row("parameters", lambda p: text(p["parameters"], "B"))
    row("optimiser's state", lambda p: text(p["state"], "B"))
    row("temporaries", lambda p: text(p["temporaries"], "B"))
    row("memory at most", lambda p: text(p["peak"], "B"))
    row("collectives in the program", lambda p: str(p["collectives"]))
    row("lines of a device's program", lambda p: f"{p['lines']:,}")
    row("plan as JSON", lambda p: text(p["json"], "B"))
    row("planning", lambda p: text(p["planning"], "s"))
    return table(head, rows)


def picture(forms):
    """A bar for each plan, of work and of the collectives of each level; a step of work alone has one width in all."""
    left, width, bar, gap, head = 70, 560, 16, 6, 28
    longest = max(p["seconds"] for plans in forms.values() for p in plans)
    shapes, y = [], 30
    legend = [("work", "work")] + [(axis, "collectives " + name) for axis, name in LEVELS.items()]
    for i, (part, name) in enumerate(legend):
        shapes.append(f'<rect x="{left + 150 * i}" y="6" width="10" height="10" fill="{COLOURS[part]}"/>')
        shapes.append(f'<text x="{left + 150 * i + 14}" y="15">{name.replace("collectives ", "")}</text>')
    for form, plans in forms.items():
        y += head
        shapes.append(f'<text x="{left}" y="{y - 8}" font-weight="bold">{form}</text>')
        for p in plans:
            shapes.append(f'<text x="{left - 8}" y="{y + 12}" text-anchor="end">{p["devices"]:,}</text>')
            x = float(left)
            for part, _ in legend:
                seconds = p["work"] if part == "work" else along(p, part)["seconds"]
                shapes.append(f'<rect x="{x:.1f}" y="{y}" width="{width * seconds / longest:.1f}" height="{bar}" fill="{COLOURS[part]}"/>')
                x += width * seconds / longest
            shapes.append(f'<text x="{x + 6:.1f}" y="{y + 12}">{text(p["seconds"], "s")}</text>')
            y += bar + gap
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 80} {y + 10}" font-family="sans-serif" font-size="12">\n'
        f'<rect width="100%" height="100%" fill="white"/>\n' + "\n".join(shapes) + "\n</svg>\n"
    )


def bookkeeping(program, devices, processes):
    env = os.environ | {"TESSERA_DEVICES": str(devices), "TESSERA_WORKERS": "1"}
    command = [program]
    if processes > 1:
        launcher = shutil.which("mpirun")
        if not launcher:
            return None
        command = [launcher, "-n", str(processes), program]
        env |= {"OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none"}
    return json.loads(subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout)


def runtime_table(rows):
    head = ["devices of the process", "processes", "devices in all"]
    head += [f"`{name}`: {what}" for name in ("x + c", "psum") for what in ("a call", "its frame", "a result", "a program")]
    lines = []
    for r in rows:
        line = [f"{r['local']:,}", str(r["processes"]), f"{r['devices']:,}"]
        for name in ("add", "psum"):
            line += [text(r[name]["processor"], "s"), text(r[name]["frame"], "B"), text(r[name]["array"], "B"), text(r[name]["program"], "B")]
        lines.append(line)
    return table(head, lines)


def training(program, rounds=5):
    """Times steps on several numbers of devices in turn: {model: {devices: median seconds}}."""
    process = subprocess.Popen([program, "--devices", str(max(DEVICES)), "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def step(row):
        print(f"time {row} 0.5", file=process.stdin, flush=True)
        status, wall, *_ = process.stdout.readline().split()
        assert status == "ok", row
        return float(wall) * 1e-6

    times = {model: {n: [] for n in DEVICES} for model in ("mlp_3072", "cnn_3072")}
    for _ in range(rounds):
        for model, of in times.items():
            for n in DEVICES:
                of[n].append(step(f"{model}/{n}"))
    process.stdin.close()
    process.wait()
    return {model: {n: statistics.median(x) for n, x in of.items()} for model, of in times.items()}


def training_table(times):
    head = ["devices", "examples a device"] + [f"{title}, a step | more than on {DEVICES[0]}, a device more" for title in ("MLP", "CNN")]
    lines = []
    for n in DEVICES:
        line = [f"{n:,}", str(3072 // n)]
        for of in times.values():
            slope = (of[n] - of[DEVICES[0]]) / (n - DEVICES[0]) if n > DEVICES[0] else None
            line += [text(of[n], "s"), "" if slope is None else ("-" if slope < 0 else "") + text(abs(slope), "s")]
        lines.append(line)
    return table(" | ".join(head).split(" | "), lines)


def put(page, name, content):
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, rest = page.split(begin)
    return before + begin + "\n" + content + end + rest.split(end)[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--layers", default="48")
    parser.add_argument("--only", choices=["plans", "runtime", "training"])
    parser.add_argument("--write", action="store_true", help="put the results into docs/scaling.md")
    args = parser.parse_args()
    parts = {}
    svg = None
    if args.only in (None, "plans"):
        run = subprocess.run([args.build / "bench/scaling_plans", args.layers], check=True, capture_output=True, text=True)
        forms = by_form([json.loads(line) for line in run.stdout.splitlines()])
        parts["links"] = links_table(next(iter(forms.values()))[-1])
        parts["plans"] = "\n".join(f"### {form.capitalize()}\n\n" + plan_table(plans) for form, plans in forms.items())
        svg = picture(forms)
    if args.only in (None, "training"):
        when = datetime.datetime.now(datetime.timezone.utc).strftime("Measured on %Y-%m-%d %H:%M UTC")
        parts["training"] = f"{when}, {os.cpu_count()} cores.\n\n" + training_table(training(args.build / "bench/rows_bench"))
    if args.only in (None, "runtime"):
        program = args.build / "bench/scaling_bookkeeping"
        alone = [bookkeeping(program, n, 1) for n in (8, 64, 256, 1024, 4096)]
        few = [bookkeeping(program, 4 * p, p) for p in (1, 2, 4, 8, 16)]
        many = [bookkeeping(program, 256 * p, p) for p in (1, 2, 4, 8, 16)]
        when = datetime.datetime.now(datetime.timezone.utc).strftime("Measured on %Y-%m-%d %H:%M UTC")
        parts["runtime"] = f"{when}, {os.cpu_count()} cores.\n\n" + "\n".join(
            title + "\n\n" + runtime_table([r for r in rows if r])
            for title, rows in (("One process:", alone), ("Four devices a process:", few), ("256 devices a process:", many))
        )
    for name, content in parts.items():
        print(f"--- {name}\n{content}")
    if args.write:
        path = ROOT / "docs/scaling.md"
        page = path.read_text()
        for name, content in parts.items():
            page = put(page, name, content)
        path.write_text(page)
        if svg:
            (ROOT / "docs/images/scaling.svg").write_text(svg)


main()
