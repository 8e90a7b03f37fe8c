"""The charts of docs/speed.md. Each function draws one for a width and returns the SVG."""
import math

from drawing import NARROW, Drawing, number, width_of

COLOUR = {"JAX": "blue", "PyTorch": "orange", "torch.compile": "ink", "ONNX Runtime": "green", "OpenVINO": "purple", "IREE": "soft"}
POWERS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


def colour_of(peer):
    return COLOUR[peer.split(",")[0]]


class Log:
    """A logarithmic axis."""

    def __init__(self, low, high, begin, end):
        self.low, self.high, self.begin, self.end = low, high, begin, end

    def __call__(self, value):
        value = min(max(value, self.low), self.high)
        return self.begin + (self.end - self.begin) * math.log(value / self.low) / math.log(self.high / self.low)

    def ticks(self, every):
        return [v for v in every if self.low <= v <= self.high]


def legend(d, y, entries):
    """Coloured dots with names; begins new lines where the width ends. Returns the place below."""
    x = 14
    for name, colour, hollow in entries:
        need = 18 + width_of(name) + 14
        if x + need > d.width and x > 14:
            x, y = 14, y + 19
        d.dot(x + 4, y - 4, 4, colour, hollow=hollow)
        d.text(x + 13, y, name)
        x += need
    return y + 14


def ratio_axis(d, at, top, bottom, labels=True):
    """The lines of a chart of ratios. Left of 1 the other library is the faster one."""
    d.rect(at.begin, top, at(1) - at.begin, bottom - top, "tint")
    # Where a power of ten has little room, only powers of ten have a line.
    every = POWERS if (at.end - at.begin) / math.log10(at.high / at.low) > 150 else tuple(v for v in POWERS if round(math.log10(v), 6).is_integer() or v == 0.5)
    for v in at.ticks(every):
        d.line(at(v), top, at(v), bottom, "s-soft" if v == 1 else "s-rule", 1.5 if v == 1 else 1)
        if labels:
            d.text(at(v), bottom + 15, "equal" if v == 1 else f"{v:g} x", "soft", 11, "middle")


def swarm(d, at, y, points, colour, radius=3.4):
    """Dots along a line, those that would overlap beside each other."""
    rows = {}
    for value, name in sorted(points):
        x = at(value)
        for k in range(12):
            lane = (k + 1) // 2 * (1 if k % 2 else -1)
            if x - rows.get(lane, -99) >= 1.7 * radius or k == 11:
                break
        lane = max(-3, min(3, lane))
        rows[lane] = x
        d.dot(x, y + lane * 2.1 * radius * 0.72, radius, colour, f"{name}: {value:g} times our time")


def beside(width, groups):
    """Every row of the comparison as a dot; groups are [(title, {peer: [(ratio, row)]})]."""
    d = Drawing(width, "How many times as long JAX and PyTorch take, for each measured program")
    top = legend(d, 22, [(p, colour_of(p), False) for p in ("JAX", "PyTorch") if any(peers.get(p) for _, peers in groups)])
    largest = max(r for _, peers in groups for points in peers.values() for r, _ in points)
    smallest = min(r for _, peers in groups for points in peers.values() for r, _ in points)
    above = 24 if width == NARROW else 0
    at = Log(min(0.5, smallest / 1.1), largest * 1.2, 14 if above else 214, width - 14)
    lanes = [(title, [(p, peers[p]) for p in ("JAX", "PyTorch") if peers.get(p)]) for title, peers in groups]
    bottom = top + sum(above + 36 * len(peers) for _, peers in lanes) + 6
    ratio_axis(d, at, top, bottom)
    y = top
    for title, peers in lanes:
        high = 36 * len(peers)
        if above:
            d.text(20, y + 18, title, "bold", 12.5)
        else:
            d.text(202, y + high / 2 + 5, title, "bold", 12.5, "end")
        y += above
        for peer, points in peers:
            swarm(d, at, y + 18, points, colour_of(peer))
            y += 36
        d.line(14, y + 0.5, width - 14, y + 0.5)
    sides(d, at, bottom + 33)
    return d.svg(bottom + 44)


def sides(d, at, y):
    """What the two halves of a chart of ratios mean."""
    narrow = d.width == NARROW
    d.text(at.begin, y, "the other is faster" if narrow else "the other library is faster", "orange", 12)
    d.text(d.width - 14, y, "Tessera is faster", "soft", 12, "end")


def tasks(width, rows):
    """Bars of some programs; rows are [(title, [(side, amount, text)])]. The longest bar of a program fills the width."""
    d = Drawing(width, "The time or memory that some programs take with Tessera, JAX and PyTorch")
    y = 8
    colours = {"Tessera": "green", "JAX": "blue", "PyTorch": "orange"}
    left, room = 78, width - 78 - 80
    for title, sides in rows:
        y += 18
        d.text(14, y, title, "bold", 12.5)
        y += 8
        longest = max(a for _, a, _ in sides)
        for side, value, text in sides:
            d.text(left - 8, y + 12, side, "soft", 12, "end")
            long = max(2, room * value / longest)
            d.rect(left, y + 1, long, 15, colours[side], 2)
            d.text(left + long + 7, y + 12, text, "", 12)
            y += 19
        y += 4
    return d.svg(y + 6)


def models(width, rows, peers):
    """Each model a line, each other library a dot; rows are [(model, {peer: ratio})]."""
    d = Drawing(width, "How many times as long other libraries take for whole models")
    top = legend(d, 22, [(p.split(",")[0], colour_of(p), False) for p in peers])
    ratios = [r for _, of in rows for r in of.values()]
    above = 18 if width == NARROW else 0
    at = Log(min(0.6, min(ratios) / 1.1), max(ratios) * 1.2, 14 if above else 284, width - 14)
    step = above + 24
    bottom = top + step * len(rows) + 4
    ratio_axis(d, at, top, bottom)
    for k, (model, of) in enumerate(rows):
        y = top + step * k
        if above:
            d.text(20, y + 16, model, "", 12)
        else:
            d.text(272, y + 16, model, "", 12, "end")
        d.line(14, y + step + 0.5, at.end, y + step + 0.5)
        for peer in peers:
            if peer in of:
                d.dot(at(of[peer]), y + above + 12, 4.6, colour_of(peer), f"{peer}: {of[peer]:g} times our time")
    sides(d, at, bottom + 33)
    return d.svg(bottom + 44)


def limits(width, groups):
    """Bars of the share of the machine's limit; groups are [(title, [(name, share)])]."""
    d = Drawing(width, "The share of the machine's limit that programs reach")
    narrow = width == NARROW
    left = 14 if narrow else 286
    right = width - 52
    y = 6
    rows = sum(len(r) for _, r in groups)
    height = y + 28 * len(groups) + rows * (33 if narrow else 21) + 10
    for share in (0.25, 0.5, 0.75, 1):
        x = left + (right - left) * share
        d.line(x, y + 8, x, height - 4, "s-soft" if share == 1 else "s-rule")
        d.text(x, height + 11, f"{100 * share:.0f} %", "soft", 11, "middle")
    for title, bars in groups:
        y += 22
        d.text(14, y, title, "bold", 12.5)
        y += 6
        for name, share in bars:
            x = min(share, 1) * (right - left)
            if narrow:
                d.text(left, y + 11, name, "", 12)
                y += 14
            else:
                d.text(left - 10, y + 13, name, "", 12, "end")
            d.rect(left, y + 3, x, 13, "blue" if share < 1 else "green", 2, title=f"{name}: {100 * share:.0f} %")
            d.text(left + x + 6, y + 13, f"{100 * share:.0f} %", "halo", 11.5)
            y += 19 if narrow else 21
    return d.svg(height + 20)


def roofline(width, points, peak, memory, title):
    """Operations for each byte (to the right) and operations a second (upwards), below what the machine can do. Points are
    [(intensity, GFLOP/s, colour, hollow, name)]; names are numbers, which the list below the picture explains."""
    d = Drawing(width, title)
    plot, left, right, top = 300 if width > NARROW else 250, 46, width - 16, 34
    x = Log(min(p[0] for p in points) / 3, 2 * max(p[0] for p in points), left, right)
    y = Log(min(p[1] for p in points) / 2.5, 1.6 * max(peak, max(p[1] for p in points)), top + plot, top)
    for v in x.ticks([10.0**e for e in range(-2, 5)]):
        d.line(x(v), top, x(v), top + plot)
        d.text(x(v), top + plot + 15, f"{v:g}", "soft", 11, "middle")
    for v in y.ticks([10.0**e for e in range(-3, 5)]):
        d.line(left, y(v), right, y(v))
        d.text(left - 6, y(v) + 4, f"{v:g}", "soft", 11, "end")
    d.text(8, 18, "thousand million operations a second", "soft", 11)
    d.text(right, top + plot + 32, "operations for each byte that has to be moved", "soft", 11, "end")
    corner, begin = peak / memory, max(x.low, y.low / memory)
    d.path(f"M{number(x(begin))} {number(y(begin * memory))}L{number(x(corner))} {number(y(peak))}L{number(right)} {number(y(peak))}", "s-ink", 2)
    d.text(right - 4, y(peak) - 7, f"multipliers: {peak:.0f}", "bold", 11.5, "end")
    steep = math.degrees(math.atan2(y(begin * memory) - y(peak), x(corner) - x(begin)))
    mx, my = x(begin) + 0.36 * (x(corner) - x(begin)) - 6, y(begin * memory) + 0.36 * (y(peak) - y(begin * memory)) - 7
    d.text(mx, my, f"memory: {memory:.0f} GB/s", "bold", 11.5, "middle", f' transform="rotate({-steep:.1f} {number(mx)} {number(my)})"')
    bottom = top + plot + 44
    marks = [(x(p[0]), y(p[1])) for p in points]
    placed, numbers = [], {}
    for intensity, speed, colour, hollow, name in points:
        d.dot(x(intensity), y(speed), 4.2, colour, f"{name}: {speed:.3g} GFLOP/s", hollow)
        if colour == "orange":
            continue
        k = numbers.setdefault(name, len(numbers) + 1)
        # The number stands where it meets no other number and no mark.
        for dx, dy in ((0, 17), (0, -9), (13, 4), (-13, 4), (13, 15), (-13, 15), (14, -7), (-14, -7), (0, 29), (24, 4), (-24, 4), (0, 41)):
            place = (x(intensity) + dx, y(speed) + dy)
            if all(abs(place[0] - a) > 13 or abs(place[1] - b) > 10 for a, b in placed) and \
                    all(abs(place[0] - a) > 10 or abs(place[1] - 4 - b) > 9 for a, b in marks):
                break
        placed.append(place)
        d.text(*place, str(k), "halo", 10.5, "middle")
    columns = 1 if width == NARROW else 2
    each = (len(numbers) + columns - 1) // columns
    for name, k in numbers.items():
        column, row = divmod(k - 1, each)
        d.text(left - 20 + column * (width - left) / columns, bottom + 8 + 17 * row, f"{k}", "bold", 11.5, "end")
        d.text(left - 12 + column * (width - left) / columns, bottom + 8 + 17 * row, name, "", 11.5)
    return d.svg(bottom + 17 * each + 8)
