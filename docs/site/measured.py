"""Reads the tables of docs/performance.md, performance_avx2.md, models.md and jax_speed.md, and the marks of docs/images/models.svg."""
import dataclasses
import math
import re

UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "MB": 1e6, "GB": 1e9}


@dataclasses.dataclass
class Machine:
    """What the heading of a measurement says of the machine."""
    date: str
    cores: int
    processor: str
    peak: float  # GFLOP/s of all cores
    narrow: dict  # of products of narrower types
    memory: float  # GB/s of all cores, for arrays that no cache holds


def between(text, name):
    """The text between the markers of a measurement."""
    return text.split(f"<!-- {name}: begin -->")[1].split(f"<!-- {name}: end -->")[0]


def machine(text):
    text = " ".join(text.split())
    speeds = re.search(r"fused multiply-adds [\d.]+ GFLOP/s from one core, ([\d.]+) from all(.*?); a triad .*? ([\d.]+) and ([\d.]+) GB/s", text)
    narrow = {unit: float(m[1]) for unit, words in (("bf16", "products of bfloat16 with float32 sums"), ("int32", "products and sums of int32"))
              if (m := re.search(rf"{words} ([\d.]+)", speeds[2]))}
    who = re.search(r"The machine: (\d+) cores?, (.*?) \(", text)
    return Machine(re.search(r"Measured on (\d+-\d+-\d+)", text)[1], int(who[1]), who[2], float(speeds[1]), narrow, float(speeds[4]))


def tables(text, mark="###"):
    """{heading: [{column: cell}]} of the first table below each heading."""
    found = {}
    for piece in re.split(rf"^{mark} ", text, flags=re.M)[1:]:
        heading, _, body = piece.partition("\n")
        lines = [[c.strip() for c in line.strip()[1:-1].split("|")] for line in body.splitlines() if line.startswith("|")]
        if len(lines) > 2:
            found[heading.strip()] = [dict(zip(lines[0], row)) for row in lines[2:]]
    return found


def amount(cell):
    """Seconds, or bytes, at the beginning of a cell; None if there are none."""
    m = re.match(r"([\d.]+) (us|ms|s|MB|GB)\b", cell or "")
    return float(m[1]) * UNITS[m[2]] if m else None


def shown(cell):
    """An amount as the cell writes it."""
    m = re.match(r"[\d.]+ (?:us|ms|s|MB|GB)\b", cell or "")
    return m[0] if m else ""


def ratio(cell):
    """A ratio, which may be bold; None if there is none."""
    m = re.fullmatch(r"\*{0,2}([\d.]+(?:e[+-]?\d+)?)\*{0,2}", cell or "")
    return float(m[1]) if m else None


def reached(cell):
    """The share of the limit, as a number, of a cell "2.21 ms (82 %)"."""
    m = re.search(r"\(([\d.]+) %\)", cell or "")
    return float(m[1]) / 100 if m else None


def peers(row):
    """{peer: ratio of its time to ours} of a row of docs/models.md."""
    return {name: float(m[1]) for name, cell in row.items() if (m := re.search(r"\(\*{0,2}([\d.]+)\*{0,2}\)$", cell)) and "%" not in cell}


def mean(values):
    """The geometric mean."""
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def marks(svg):
    """[(operations for a byte, GFLOP/s, side, batch, model)] of docs/images/models.svg, and its peak and memory speed."""
    ticks = [(float(x), float(v)) for x, v in re.findall(r'<text x="([\d.]+)" y="[\d.]+" text-anchor="middle">([\d.]+)</text>', svg)]
    (x1, v1), (x2, v2) = ticks[0], ticks[-1]
    points = []
    for x, edge, model, batch, speed in re.findall(r'<circle cx="([\d.]+)"[^>]*stroke="(#\w+)"[^>]*><title>(.*?), batch (\d+): ([\d.e+]+) GFLOP/s', svg):
        intensity = v1 * (v2 / v1) ** ((float(x) - x1) / (x2 - x1))
        points.append((intensity, float(speed), "tessera" if edge == "#c0392b" else "best", int(batch), model))
    limits = re.search(r">([\d.]+) GFLOP/s; memory ([\d.]+) GB/s<", svg)
    return points, float(limits[1]), float(limits[2])
