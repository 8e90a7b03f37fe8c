"""The drawings of docs/how_it_works.md, made from what its program prints and writes down: draw(FOLDER, PARTS).

tests/check_lessons.py runs the program and calls this; scripts/lessons writes the files. The program's text is parsed, so a drawing shows what
the compiler did in that run."""
import dataclasses
import itertools
import pathlib
import re
import string

from drawing import MONO, NARROW, Drawing, both, number, width_of

KIND = {"dot_general": "blue", "reduce_sum": "orange", "psum": "purple", "psum_invariant": "purple", "pvary": "soft"}
ARGUMENTS = "wxy"  # what the program calls its arguments; values in between have the other letters
PLUMBING = {"block", "assemble", "constant", "convert", "broadcast_in_dim", "transpose", "reshape", "pvary", "copy", "squeeze"}
INFIX = {"add": "+", "sub": "-", "mul": "×", "div": "÷"}


@dataclasses.dataclass
class Equation:
    name: str
    type: str
    op: str
    operands: list
    attrs: str
    varies: bool  # whether devices may hold different values


@dataclasses.dataclass
class Program:
    inputs: list  # (name, type, whether devices may hold different values)
    outputs: list
    equations: list


def program(text):
    """A program without nested ones, from its text; more text may follow."""
    header = re.search(r"\{ \((.*?)\) -> \((.*?)\)\n", text)
    inputs = [(n, t, bool(v)) for n, t, v in re.findall(r"(\w+): (\w+\[[\d,]*\])\*?(\{varying: [^}]*\})?", header[1])]
    equations = []
    for line in text[header.end():].splitlines():
        if line.strip().startswith("}"):
            break
        if m := re.match(r"\s*(\w+): (\w+\[[\d,]*\])\*?(\{varying: [^}]*\})? = (\w+)((?: \w+)*)(?: \[(.*))?", line):
            equations.append(Equation(m[1], m[2], m[4], m[5].split(), m[6] or "", bool(m[3])))
    # What only says where a value lies is no step of the drawing.
    same = {e.name: e.operands[0] for e in equations if e.op == "sharding_constraint"}
    equations = [e for e in equations if e.name not in same]
    outputs = [same.get(n, n) for n in re.findall(r"\w+", header[2])]
    for e in equations:
        e.operands = [same.get(o, o) for o in e.operands]
    names = {n: c for (n, _, _), c in zip(inputs, ARGUMENTS)}
    letters = (x for n in range(1, 3) for x in map("".join, itertools.product(string.ascii_lowercase, repeat=n)) if x not in ARGUMENTS)
    names |= {e.name: next(letters) for e in equations}
    for e in equations:
        e.name, e.operands = names[e.name], [names.get(o, o) for o in e.operands]
    return Program([(names[n], t, v) for n, t, v in inputs], [names.get(n, n) for n in outputs], equations)


def region(text):
    """The program of one device inside a partitioned program."""
    return program(text[text.index("body="):])


def size(type_):
    """f32[512,8] as 512 × 8."""
    inside = re.search(r"\[(.*?)\]", type_)[1]
    return inside.replace(",", " × ") if inside else "number"


def formula(e):
    """An equation as people write it."""
    a = e.operands + ["", ""]
    if e.op in INFIX and len(e.operands) == 2:
        return f"{a[0]} {INFIX[e.op]} {a[1]}"
    if e.op == "dot_general":
        left = "ᵀ" if "lhs_contracting=(0)" in e.attrs else ""
        right = "ᵀ" if "rhs_contracting=(1)" in e.attrs else ""
        return f"{a[0]}{left} · {a[1]}{right}"
    if e.op == "constant":
        value = re.search(r"value=\w+\[\] ([^,\]]+)", e.attrs)
        return value[1] if value else "constant"
    words = {"neg": "-{0}", "broadcast_in_dim": "{0}, repeated", "transpose": "{0}ᵀ", "reduce_sum": "sum of {0}", "convert": "{0} as {1}",
             "psum": "sum of {0} over devices", "psum_invariant": "sum of {0} over devices", "pvary": "{0}, on each device", "block": "a device's rows of {0}",
             "assemble": "{0}, as a whole"}
    if e.op in words:
        return words[e.op].format(a[0], e.type.split("[")[0])
    return f"{e.op} {' '.join(e.operands)}"


def kind(e):
    return KIND.get(e.op, "soft" if e.op in PLUMBING else "green")


KINDS = [("product of matrices", "blue"), ("element by element", "green"), ("sum", "orange"), ("between devices", "purple"), ("only moves or repeats", "soft")]


def arcs(width, p, title, marks=None):
    """The equations of a program below each other. An arc leads from each value to each equation that reads it. `marks` are {name of an
    equation: colour of a frame}."""
    width = min(width, 540)
    d = Drawing(width, title)
    step, y0 = 19, 30
    names = [n for n, *_ in p.inputs] + [e.name for e in p.equations]
    place = {n: y0 + step * k for k, n in enumerate(names)}
    # Arcs that would be nested share no lane.
    reads = [(place[o], place[e.name]) for e in p.equations for o in e.operands if o in place]
    longest = max((b - a for a, b in reads), default=1)
    left = 76 if width == NARROW else 128
    for a, b in sorted(reads, key=lambda r: r[0] - r[1]):
        reach = 8 + (left - 22) * ((b - a) / longest) ** 0.6
        x = left - 6
        d.path(f"M{number(x)} {number(a - 4)}C{number(x - reach)} {number(a - 4)} {number(x - reach)} {number(b - 4)} {number(x)} {number(b - 4)}", "s-soft", 1,
               ' opacity="0.55"')
    x = left + 12
    for n, t, _ in p.inputs:
        d.dot(left, place[n] - 4, 4.5, "ink", hollow=True)
        d.spans(x, place[n], [(n, "bold"), ("  argument", "soft")], size=11.5)
        d.text(width - 14, place[n], size(t), "mono soft", 11, "end")
    for e in p.equations:
        y = place[e.name]
        if marks and e.name in marks:
            d.rect(x - 22, y - 14, width - x + 14, step, marks[e.name], 0, ' opacity="0.16"')
        d.dot(left, y - 4, 4.5, kind(e))
        d.spans(x, y, [(e.name, "bold"), (f" = {formula(e)}", "soft" if kind(e) == "soft" else "")], size=11.5)
        d.text(width - 14, y, size(e.type), "mono soft", 11, "end")
    y = y0 + step * len(names) + 8
    for name in p.outputs:
        d.text(x, y, f"result: {name}", "mono bold", 11.5)
    y += 22
    here, line = 14, y
    for name, colour in KINDS:
        if any(kind(e) == colour for e in p.equations):
            need = 16 + width_of(name, 11.5) + 10
            if here + need > width:
                here, line = 14, line + 17
            d.dot(here + 4, line - 4, 4, colour)
            d.text(here + 12, line, name, "soft", 11.5)
            here += need
    return d.svg(line + 12)


def tape(text):
    """[(devices, [(kind, name, inputs, outputs)])] of each phase, and {slot: (space, bytes)}."""
    phases, slots = [], {}
    for line in text.splitlines():
        if m := re.match(r"  phase \d+: (.*)", line):
            phases.append((m[1], []))
        elif phases and (m := re.match(r"    (\w+) (\S+)(.*)", line)):
            refs, _, results = m[3].rpartition(" -> ")
            for slot, space, size_ in re.findall(r"%(\d+) \((\w+), (\d+) B\)", m[3]):
                slots[int(slot)] = (space, int(size_))
            phases[-1][1].append((m[1], m[2].rstrip(":"), [int(s) for s in re.findall(r"%(\d+) \(", refs)], [int(s) for s in re.findall(r"%(\d+) \(", results)]))
    return phases, slots


def overview(width, stations):
    """The stations of the program; stations are [(title, what is there)]."""
    d = Drawing(width, "The stations of a program: " + ", ".join(title for title, _ in stations))
    colours = ["green", "blue", "blue", "purple", "orange", "green"]
    if width == NARROW:
        y = 14
        for k, (title, what) in enumerate(stations):
            d.box(14, y, width - 28, 42, colours[k])
            d.text(26, y + 18, title, "bold")
            d.text(26, y + 34, what, "soft", 12)
            y += 42
            if k + 1 < len(stations):
                d.arrow(width / 2, y + 2, width / 2, y + 16)
                y += 18
        return d.svg(y + 14)
    each = (width - 28 + 16) / len(stations)
    for k, (title, what) in enumerate(stations):
        x = 14 + k * each
        d.box(x, 18, each - 16, 92, colours[k])
        d.text(x + 10, 40, title, "bold")
        d.lines(x + 10, 60, what, each - 34, "soft", 11.5, 15)
        if k + 1 < len(stations):
            d.arrow(x + each - 15, 64, x + each - 1, 64)
    return d.svg(128)


def devices(width, p, count):
    """The program of one device beside those of the others. A box over all columns is an exchange, or work that is done once for all."""
    d = Drawing(width, "The program on each device, and what the devices exchange")
    narrow, gap = width == NARROW, 6 if width == NARROW else 10
    each = (width - 28 - gap * (count - 1)) / count
    columns = [14 + k * (each + gap) for k in range(count)]
    y = 14
    for k, x in enumerate(columns):
        d.text(x + each / 2, y + 12, f"device {k}", "bold", 12, "middle")
    y += 22

    def row(text, below, colour, wide, height=40):
        nonlocal y
        for x in ([14] if wide else columns):
            w = width - 28 if wide else each
            d.box(x, y, w, height, colour)
            d.text(x + w / 2, y + 17, text, "", 11 if narrow and not wide else 12, "middle")
            d.text(x + w / 2, y + 32, below, "soft", 11, "middle")
        y += height + 6

    for n, t, varies in p.inputs:
        if varies:
            row(f"its rows of {n}", size(t), "ink", False) if not narrow else row(f"rows of {n}", size(t), "ink", False)
        else:
            row(f"all of {n}, stored once for all devices", size(t), "ink", True)
    y += 4
    # Constants have their value, what is only moved or repeated has the name of its argument, and other values have none.
    names = {n: n for n, *_ in p.inputs}
    for e in p.equations:
        if e.op == "constant":
            names[e.name] = formula(e)
        elif kind(e) == "soft" and e.operands[0] in names:
            names[e.name] = names[e.operands[0]]

    def said(e):
        return formula(dataclasses.replace(e, operands=[names.get(o, "…") for o in e.operands]))

    group = []

    def flush():
        if group:
            row(" ".join(INFIX.get(e.op, e.op) for e in group) if len(group) > 1 else said(group[0]), size(group[-1].type), "green", not group[0].varies)
            group.clear()

    for e in p.equations:
        if kind(e) == "soft":
            continue
        if kind(e) == "green":
            if group and group[0].varies != e.varies:
                flush()
            group.append(e)
            continue
        flush()
        if kind(e) == "purple":
            row("the devices exchange: a sum over all of them", size(e.type), "purple", True)
        else:
            row(said(e), size(e.type), kind(e), not e.varies)
    flush()
    d.text(width / 2, y + 12, "the new w, equal on all devices", "bold", 12, "middle")
    return d.svg(y + 24)


def steps(width, phases, slots):
    """The tape from the top to the bottom: its phases with their steps, and beside each step the memory that is in use."""
    d = Drawing(width, "The tape: phases, steps, and the memory that is in use")
    narrow = width == NARROW
    order = [(k, s) for k, (_, of) in enumerate(phases) for s in of]
    lives = {}
    for at, (_, (_, _, ins, outs)) in enumerate(order):
        for slot in ins + outs:
            first, _ = lives.get(slot, (at if slots[slot][0] not in ("argument", "constant") else 0, at))
            lives[slot] = (first, at)
    for slot, (first, last) in lives.items():
        if slots[slot][0] == "result":
            lives[slot] = (first, len(order) - 1)
    lane = 15 if narrow else 26
    left, right = 14, width - 14 - lane * len(lives) - 8
    colours = {"argument": "ink", "result": "green", "arena": "orange", "local": "blue", "constant": "soft"}
    y, at, places = 42, 0, []
    d.text(right + 12, 20, "memory", "bold", 12)
    d.text(left, 20, "phases and steps", "bold", 12)
    for k, (who, of) in enumerate(phases):
        what = {"collectives": ("exchange", "an exchange between the devices"), "once": ("once", "work that is done once for all devices")} \
            .get(who, ("each device", "work of each device"))[not narrow]
        height = 24 + 40 * len(of)
        d.box(left, y - 12, right - left, height, "purple" if who == "collectives" else "rule")
        d.text(left + 10, y + 4, f"phase {k}: {what}", "bold", 12)
        for j, (kind_, name, *_rest) in enumerate(of):
            top = y + 12 + 40 * j
            words = shortened(name, int((right - left - 24) / (11 * MONO)))
            d.text(left + 10, top + 13, "product of matrices" if name == "dot_general" else kind_, "soft", 11.5)
            d.text(left + 10, top + 28, words, "mono", 11)
            places.append((top + 2, top + 34))
            at += 1
        y += height + 8
    for i, (slot, (first, last)) in enumerate(sorted(lives.items())):
        x = right + 12 + lane * i
        space, bytes_ = slots[slot]
        top, bottom = places[first][0], places[last][1]
        d.rect(x, top, lane - 6, bottom - top, colours[space], 3, title=f"%{slot}: {space}, {bytes_} bytes")
        mx, my = x + (lane - 6) / 2, (top + bottom) / 2
        if bottom - top > 50:
            d.text(mx + 4, my, bytes_text(bytes_), "ground", 10.5, "middle", f' transform="rotate(-90 {number(mx + 4)} {number(my)})"')
    here, y = 14, y + 10
    for space, words in (("argument", "arguments"), ("local", "memory of a worker"), ("arena", "memory between phases"), ("result", "results"), ("constant", "constants")):
        if any(slots[s][0] == space for s in lives):
            need = 16 + width_of(words, 11.5) + 10
            if here + need > width:
                here, y = 14, y + 17
            d.rect(here, y - 9, 10, 10, colours[space], 2)
            d.text(here + 15, y, words, "soft", 11.5)
            here += need + 4
    return d.svg(y + 12)


def shortened(text, most):
    return text if len(text) <= most else text[:most - 1] + "…"


def bytes_text(n):
    return f"{n} B" if n < 1024 else f"{n / 1024:.0f} KB"


WHAT = {"cancel": "operations that cancel each other disappear", "fold": "computations on constants are done now", "cse": "equal equations become one",
        "dead_code": "what nothing reads disappears", "decompose": "an equation is replaced by faster ones", "join_slices": "slices that are joined become one",
        "ends": "sorts stop early", "small_branches": "small branches become choices", "hoist": "what a loop repeats moves out of it"}


def counted(text):
    return len(re.findall(r"^\s*\w+: \S+(?: \S+\})? = (?!shard_map)", text, re.M))


def passes(folder):
    """The program that the last run of the simplifying passes got, as its number of equations, and [(pass, equations)] after each of them;
    then the program whose equations were joined to kernels, and how."""
    files = {int(p.name[:4]): p for p in (folder / "passes").glob("*-before.txt")}
    after = {n: p.with_name(p.name.replace("-before", "-after")) for n, p in files.items()}
    last = max(n for n, p in files.items() if p.name[5:].startswith("fuse-"))
    begin = max(n for n, p in files.items() if n < last and p.name[5:].startswith("cancel-"))
    end = max(n for n, p in files.items() if n < last and p.name[5:].startswith("dead_code-"))
    runs = [(files[n].name[5:-len("-before.txt")], counted(after[n].read_text())) for n in range(begin, end + 1)]
    return counted(files[begin].read_text()), runs, files[last].read_text(), after[last].read_text()


def groups(fused):
    """{number of an equation: number of its kernel} of the text that the pass fuse writes; equations alone have none."""
    found = {}
    for k, line in enumerate(re.findall(r"^kernel of (.*)$", fused, re.M)):
        found |= {int(n): k for n in re.findall(r"(\d+):", line)}
    return found


def bars(width, runs, first):
    """The number of equations that each pass leaves; runs are [(pass, equations)], and `first` is their number before all of them."""
    d = Drawing(width, "The number of equations after each pass")
    narrow = width == NARROW
    left = 14 if narrow else 424
    most, y = max([first] + [n for _, n in runs]), 14
    rows = [("before", "", first)] + [(name, WHAT[name], n) for name, n in runs]
    before = first
    for name, what, n in rows:
        long = (width - left - 70) * n / most
        if narrow:
            d.spans(14, y + 12, [(name, "bold"), (f"  {what}", "soft")], "", 12)
            y += 18
        else:
            d.text(14, y + 14, name, "bold", 12.5)
            d.text(128, y + 14, what, "soft", 11.5)
        if before > n:
            d.rect(left, y + 2, (width - left - 70) * before / most, 15, "tint", 2)
        d.rect(left, y + 2, long, 15, "blue" if n != before or name == "before" else "soft", 2)
        d.text(left + (width - left - 70) * max(n, before) / most + 8, y + 14, f"{n}", "bold", 12)
        before = n
        y += 26 if narrow else 25
    return d.svg(y + 8)


def draw(folder, parts):
    """Writes the drawings into the folder in which the program ran."""
    traced, divided = program(parts["trace"]), region(parts["partition"])
    phases, slots = tape(parts["tape"])
    first, runs, unfused, fused = passes(folder)
    joined = program(unfused)
    ground = ["green", "orange", "purple", "blue"]
    marks = {joined.equations[n].name: ground[k % len(ground)] for n, k in groups(fused).items()}
    kernels = sum(kind_ == "kernel" for _, of in phases for kind_, *_ in of)
    exchanges = sum(e.op.startswith("psum") for e in divided.equations)
    stations = [("C++", "one function, written for whole arrays"), ("Trace", f"{len(traced.equations)} equations on whole arrays"),
                ("Partition", f"{len(divided.equations)} equations for each device, {exchanges} exchange"), ("Passes", f"{runs[-1][1]} equations are left"),
                ("Kernels", f"{kernels} kernels and products"), ("Tape", f"{len(phases)} phases")]
    pictures = {"overview": both(overview, stations), "trace": both(arcs, traced, "The traced program"), "devices": both(devices, divided, 4),
                "passes": both(bars, runs, first), "kernels": both(arcs, joined, "The equations of one device, by kernel", marks),
                "tape": both(steps, phases, slots)}
    for name, files in pictures.items():
        for suffix, text in files.items():
            (folder / f"{name}{suffix}.svg").write_text(text)
