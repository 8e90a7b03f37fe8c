"""Writes erfc_table.h: polynomials of exp(a^2) erfc(a) on intervals of a, with coefficients of float32.

    python make_erfc_table.py > erfc_table.h     # needs NumPy and mpmath

The intervals are eighths of an octave of a + OFFSET, which makes the greatest errors of octaves about as large. On each the fit is
minimax in the relative error, by Lawson's weights. Coefficients are rounded from the lowest power on, each before the next are fitted, so
that these make up for what the rounding lost.
"""
import mpmath
import numpy as np

mpmath.mp.dps = 40

ENTRIES, PARTS, DEGREE, OFFSET, LAST = 32, 8, 4, 0.6875, 10.1


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


def fitted(base, width):
    nodes = (1 - np.cos(np.pi * (np.arange(400) + 0.5) / 400)) / 2 * width
    exact = [scaled(base + d) for d in nodes]
    weight = np.array([float(1 / f) for f in exact])
    rest, coefficients = exact, []
    for k in range(DEGREE + 1):
        c = mpmath.mpf(float(np.float32(minimax(nodes, np.array([float(r) for r in rest]), weight, DEGREE - k)[0])))
        if base == 0 and k == 0:
            c = mpmath.mpf(1)
        coefficients.append(float(c))
        rest = [(r - c) / mpmath.mpf(float(d)) for r, d in zip(rest, nodes)]
        weight = weight * nodes
    error = max(abs(mpmath.polyval([mpmath.mpf(c) for c in reversed(coefficients)], mpmath.mpf(float(d))) / f - 1)
                for d, f in zip(nodes, exact))
    return coefficients, float(error)


def table():
    """By entry, which is the exponent and the first bits of the mantissa of a + OFFSET, as far as they count."""
    rows, worst = [[0.0] * (DEGREE + 1) for _ in range(ENTRIES)], 0.0
    low = OFFSET
    while low <= LAST + OFFSET:
        width = 2.0 ** np.floor(np.log2(low)) / PARTS
        entry = int(np.float32(low).view(np.uint32)) >> (24 - PARTS.bit_length()) & (ENTRIES - 1)
        rows[entry], error = fitted(low - OFFSET, width)
        worst = max(worst, error)
        low += width
    return rows, worst


def main():
    rows, worst = table()
    print("// Made by make_erfc_table.py.")
    print("//")
    print(f"// exp(a^2) erfc(a) for a from 0 to {LAST}: polynomials in the distance of a from the start of its interval. The")
    print(f"// intervals are those of the floats a + {OFFSET} that share their exponent and the first three bits of their")
    print("// mantissa, of which the lowest five bits number the entries. Within")
    print(f"// 2^{np.log2(worst):.1f}, the coefficients' rounding included.")
    print("#pragma once")
    print()
    print("namespace tessera::inline v0::codegen {")
    print()
    print(f"inline constexpr double kErfcOffset = {OFFSET};")
    print("/// The highest power first; the entries from 16 on behind the first.")
    print(f"inline constexpr float kErfcTable[{DEGREE + 1}][2][{ENTRIES // 2}] = {{")
    for k in reversed(range(DEGREE + 1)):
        numbers = [np.format_float_scientific(np.float32(row[k]), trim="-") + "f"
                   if row[k] != int(row[k]) else f"{row[k]:.0f}" for row in rows]
        print("    {{" + ", ".join(numbers[:ENTRIES // 2]) + "}, {" + ", ".join(numbers[ENTRIES // 2:]) + "}},")
    print("};")
    print()
    print("}  // namespace tessera::inline v0::codegen")


if __name__ == "__main__":
    main()
