"""Draws the models under the machine's roofline as SVG: operations for each byte against operations a second, both on logarithmic axes."""

import math

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 420, 64, 150, 24, 52
COLOURS = {"tessera": "#c0392b", "best": "#2c6fbb"}


def roofline(result):
    """Our models and the fastest peer of each; a batch of 8 is a filled mark, one of 1 a ring."""
    limits = result["limits"]
    peak, memory = limits["fma"][max(limits["fma"])], limits["triad"][max(limits["triad"])]
    points = []
    for model, facts in result["models"].items():
        for batch in (1, 8):
            row, f = result["rows"].get(f"{model}/{batch}", {}), facts[batch]
            intensity = f["flops"] / (f["read"] + f["written"])
            peers = [s["median"] for n, s in row.items() if n != "tessera" and "median" in s]
            for side, time in (("best", min(peers, default=0)), ("tessera", row.get("tessera", {}).get("median", 0))):
                if time:
                    points.append((intensity, f["flops"] / time * 1e-3, side, batch, model))
    low, high = 0.1, max([2000.0] + [2 * p[0] for p in points])
    bottom, top = 0.3, 2 * peak

    def x(v):
        return LEFT + (WIDTH - LEFT - RIGHT) * math.log(v / low) / math.log(high / low)

    def y(v):
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * math.log(max(v, bottom) / bottom) / math.log(top / bottom)

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="11" role="img">',
             "<title>The models under the roofline</title>", f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>']
    for values, across in ((ticks(low, high), True), (ticks(bottom, top), False)):
        for v in values:
            a, b = ((x(v), HEIGHT - BOTTOM), (x(v), TOP)) if across else ((LEFT, y(v)), (WIDTH - RIGHT, y(v)))
            parts.append(f'<line x1="{a[0]:.1f}" y1="{a[1]:.1f}" x2="{b[0]:.1f}" y2="{b[1]:.1f}" stroke="#ddd"/>')
            place = f'x="{a[0]:.1f}" y="{a[1] + 16:.1f}" text-anchor="middle"' if across else f'x="{a[0] - 6}" y="{a[1] + 4:.1f}" text-anchor="end"'
            parts.append(f"<text {place}>{v:g}</text>")
    corner = peak / memory
    parts.append(f'<polyline fill="none" stroke="#333" stroke-width="1.5" points="{x(low):.1f},{y(low * memory):.1f} '
                 f'{x(corner):.1f},{y(peak):.1f} {x(high):.1f},{y(peak):.1f}"/>')
    parts.append(f'<text x="{x(high):.1f}" y="{y(peak) - 6:.1f}" text-anchor="end">{peak:.0f} GFLOP/s; memory {memory:.0f} GB/s</text>')
    used = []
    for intensity, speed, side, batch, model in points:
        fill = COLOURS[side] if batch > 1 else "white"
        parts.append(f'<circle cx="{x(intensity):.1f}" cy="{y(speed):.1f}" r="4" fill="{fill}" stroke="{COLOURS[side]}" stroke-width="1.5">'
                     f"<title>{model}, batch {batch}: {speed:.3g} GFLOP/s</title></circle>")
        if side == "tessera":
            used.append((x(intensity), y(speed), f"{model}/{batch}"))
    parts += labels(used)
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 12}" text-anchor="middle">operations for each byte that has to be moved</text>')
    parts.append(f'<text transform="translate(14 {HEIGHT / 2}) rotate(-90)" text-anchor="middle">GFLOP/s</text>')
    for i, (side, text) in enumerate((("tessera", "Tessera"), ("best", "the fastest peer"))):
        at = TOP + 14 + 18 * i
        parts.append(f'<circle cx="{LEFT + 14}" cy="{at}" r="4" fill="{COLOURS[side]}"/><text x="{LEFT + 24}" y="{at + 4}">{text}; a ring: batch 1</text>')
    return "\n".join(parts + ["</svg>"]) + "\n"


def labels(points):
    """The names right of the picture in the order of the marks, each with a thin line from its mark."""
    parts, last = [], TOP - 14.0
    at_right = WIDTH - RIGHT + 14
    places = sorted(points, key=lambda p: (p[1], p[0]))
    step = min(13.0, (HEIGHT - TOP) / max(1, len(places)))
    for px, py, name in places:
        last = max(last + step, min(py, HEIGHT - 8 - step * (len(places) - 1 - places.index((px, py, name)))))
        parts.append(f'<line x1="{px + 4:.1f}" y1="{py:.1f}" x2="{at_right - 3}" y2="{last:.1f}" stroke="#999" stroke-width="0.4"/>')
        parts.append(f'<text x="{at_right}" y="{last + 3.5:.1f}" font-size="{min(11.0, step):.1f}">{name}</text>')
    return parts


def ticks(low, high):
    return [10.0**e for e in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)]
