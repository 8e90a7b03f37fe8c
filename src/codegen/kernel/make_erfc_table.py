"""Writes erfc_table.h: polynomials of exp(a^2) erfc(a) on intervals of a, with coefficients of float32.

    python make_erfc_table.py > erfc_table.h     # needs NumPy and mpmath

There are two tables, for vectors of 16 and of 8 lanes. The intervals are equal parts of the octaves of a + offset, which makes the
greatest errors of octaves about as large. On each the fit is minimax in the relative error, by Lawson's weights. Coefficients are
rounded from the lowest power on, each before the next are fitted, so that these make up for what the rounding lost.
"""
from typing import NamedTuple

import mpmath
import numpy as np

mpmath.mp.dps = 40

LAST = 10.1


class Layout(NamedTuple):
    lanes: int
    entries: int
    parts: int  # of an octave
    degree: int
    offset: float


WIDE, NARROW = Layout(16, 32, 8, 4, 0.6875), Layout(8, 8, 2, 7, 0.75)


def scaled(a):
    a = mpmath.mpf(float(a))
    return mpmath.exp(a * a) * mpmath.erfc(a)


def minimax(x, y, weight, degree):
    """Coefficients, from the lowest power on, that keep the greatest of weight |p(x) - y| least."""
    scale = np.abs(x).max()
    powers = np.stack([(x / scale) ** k for k in range(degree + 1)], axis=1)
    share, best = np.full(len(x), 1 / len(x)), None
    for _ in range(300):
        root = np.sqrt(share) * weight
        c = np.linalg.lstsq(powers * root[:, None], y * root, rcond=None)[0]
        error = np.abs(powers @ c - y) * weight
        if best is None or error.max() < best[0]:
            best = error.max(), c
        share = share * error
        share /= share.sum()
    return best[1] / scale ** np.arange(degree + 1)


def fitted(base, width, degree):
    nodes = (1 - np.cos(np.pi * (np.arange(400) + 0.5) / 400)) / 2 * width
    exact = [scaled(base + d) for d in nodes]
    weight = np.array([float(1 / f) for f in exact])
    rest, coefficients = exact, []
    for k in range(degree + 1):
        c = mpmath.mpf(float(np.float32(minimax(nodes, np.array([float(r) for r in rest]), weight, degree - k)[0])))
        if base == 0 and k == 0:
            c = mpmath.mpf(1)
        coefficients.append(float(c))
        rest = [(r - c) / mpmath.mpf(float(d)) for r, d in zip(rest, nodes)]
        weight = weight * nodes
    error = max(abs(mpmath.polyval([mpmath.mpf(c) for c in reversed(coefficients)], mpmath.mpf(float(d))) / f - 1)
                for d, f in zip(nodes, exact))
    return coefficients, float(error)


def table(layout):
    """By entry, which is the exponent and the first bits of the mantissa of a + offset, as far as they count."""
    rows, worst = [[0.0] * (layout.degree + 1) for _ in range(layout.entries)], 0.0
    low = layout.offset
    while low < LAST + layout.offset:
        width = 2.0 ** np.floor(np.log2(low)) / layout.parts
        entry = int(np.float32(low).view(np.uint32)) >> (24 - layout.parts.bit_length()) & (layout.entries - 1)
        rows[entry], error = fitted(low - layout.offset, min(width, LAST + layout.offset - low), layout.degree)
        worst = max(worst, error)
        low += width
    return rows, worst


def written(x):
    return np.format_float_scientific(np.float32(x), trim="-") + "f" if x != int(x) else f"{x:.0f}"


def print_table(name, layout):
    rows, worst = table(layout)
    vectors = layout.entries // layout.lanes
    print()
    print(f"/// For vectors of {layout.lanes} lanes: the exponent and the first bits of the mantissa, {layout.entries} entries, within")
    print(f"/// 2^{np.log2(worst):.1f}, the coefficients' rounding included. The highest power first.")
    print(f"inline constexpr double {name}Offset = {layout.offset};")
    print(f"inline constexpr int {name}Bits = {layout.parts.bit_length() - 1};  // of the mantissa")
    print(f"inline constexpr float {name}[{layout.degree + 1}]" + (f"[{vectors}]" if vectors > 1 else "") + f"[{layout.lanes}] = {{")
    for k in reversed(range(layout.degree + 1)):
        numbers = [written(row[k]) for row in rows]
        parts = ["{" + ", ".join(numbers[v * layout.lanes:(v + 1) * layout.lanes]) + "}" for v in range(vectors)]
        print("    " + (parts[0] if vectors == 1 else "{" + ", ".join(parts) + "}") + ",")
    print("};")


def main():
    print("// Made by make_erfc_table.py.")
    print("//")
    print(f"// exp(a^2) erfc(a) for a from 0 to {LAST}: polynomials in the distance of a from the start of its interval. The")
    print("// intervals are those of the floats a + offset that share their exponent and the first bits of their mantissa. The")
    print("// lowest of these bits number the entries.")
    print("#pragma once")
    print()
    print("namespace tessera::inline v0::codegen {")
    print_table("kErfc", WIDE)
    print_table("kErfcNarrow", NARROW)
    print()
    print("}  // namespace tessera::inline v0::codegen")


if __name__ == "__main__":
    main()
