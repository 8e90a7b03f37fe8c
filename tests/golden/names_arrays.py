"""Cases of functions that make, join, order and select arrays."""
import jax.numpy as jnp
import numpy as np
from jax import lax

from names_case import FLOATS, INTS, case, draw, grad_case, rng, write


# --- stacking.h
def stacking():
    for k, dtype in enumerate(("float32", "int32", "bool", "float64", "uint8")):
        r = rng("stacking" + dtype)
        for name in ("atleast_1d", "atleast_2d", "atleast_3d"):
            for rank in range(4):
                case(f"{name}:", getattr(jnp, name), draw(r, (2, 3, 4)[:rank], dtype))
        for name in ("vstack", "hstack", "dstack", "column_stack"):
            f = getattr(jnp, name)
            case(f"{name}:", lambda *xs: f(xs), draw(r, (3,), dtype), draw(r, (3,), "int32"))
            case(f"{name}:", lambda *xs: f(xs), draw(r, (3, 2), dtype), draw(r, (3, 2), dtype), draw(r, (3, 2), dtype))
        case("block:", lambda a, b, c, d: jnp.block([[a, b], [c, d]]), draw(r, (2, 3), dtype), draw(r, (2, 1), dtype),
             draw(r, (1, 2), "int32"), draw(r, (1, 2), dtype))
        x = draw(r, (4, 5), dtype)
        case("append:", jnp.append, x, draw(r, (3,), dtype))
        case("append:1", lambda x, y: jnp.append(x, y, axis=1), x, draw(r, (4, 1), dtype))
        case("broadcast_arrays:", lambda *xs: jnp.broadcast_arrays(*xs), draw(r, (3, 1), dtype), draw(r, (4,), "float32"), draw(r, (), dtype))
        for n in (1, 2, 3, 7):
            for axis in (0, -1):
                case(f"array_split:{n} {axis}", lambda x: jnp.array_split(x, n, axis=axis), x)
        y = draw(r, (4, 6, 2), dtype)
        for name in ("vsplit", "hsplit", "dsplit"):
            case(f"{name}:2", lambda x: getattr(jnp, name)(x, 2), y)
        case("hsplit:3", lambda x: jnp.hsplit(x, 3), draw(r, (6,), dtype))
        case("unstack:1", lambda x: jnp.unstack(x, axis=1), y)
        case("delete_:1 0", lambda x: jnp.delete(x, 1, axis=0), y)
        case("delete_:-2 1", lambda x: jnp.delete(x, -2, axis=1), y)
        case("delete_:3", lambda x: jnp.delete(x, 3), x)
        for axis, start in ((2, 0), (0, 2), (-1, 1), (1, 3), (0, 3)):
            case(f"rollaxis:{axis} {start}", lambda x: jnp.rollaxis(x, axis, start), y)
        for turns in (-1, 0, 1, 2, 3, 5):
            case(f"rot90:{turns} 0 1", lambda x: jnp.rot90(x, turns), y)
            case(f"rot90:{turns} -1 0", lambda x: jnp.rot90(x, turns, axes=(-1, 0)), y)
        case("fliplr:", jnp.fliplr, y)
        case("flipud:", jnp.flipud, x)
    r = rng("stacking grad")
    grad_case("rot90:1 0 1", jnp.rot90, draw(r, (2, 3), "float32"))
    grad_case("append:", jnp.append, draw(r, (3,), "float32"), draw(r, (2, 2), "float32"))
    write("stacking")


# --- grids.h
def grids():
    for dtype in ("float32", "int32", "float64", "bool"):
        r = rng("grids" + dtype)
        a, b, c = draw(r, (3,), dtype), draw(r, (4,), "int32"), draw(r, (2,), dtype)
        for indexing in ("xy", "ij"):
            for sparse in (0, 1):
                case(f"meshgrid:{indexing} {sparse}", lambda *xs: jnp.meshgrid(*xs, indexing=indexing, sparse=bool(sparse)), a, b, c)
                case(f"meshgrid:{indexing} {sparse}", lambda *xs: jnp.meshgrid(*xs, indexing=indexing, sparse=bool(sparse)), a)
        x = draw(r, (4, 5), dtype)
        for k in (-5, -4, -1, 0, 2, 4, 6):
            case(f"diagonal:{k} 0 1", lambda x: jnp.diagonal(x, k), x)
        y = draw(r, (3, 2, 4), dtype)
        case("diagonal:1 0 2", lambda x: jnp.diagonal(x, 1, 0, 2), y)
        case("diagonal:-1 -1 1", lambda x: jnp.diagonal(x, -1, -1, 1), y)
        for k in (-2, 0, 1):
            case(f"diagflat:{k}", lambda x: jnp.diagflat(x, k), draw(r, (2, 2), dtype))
        case("fill_diagonal:", lambda x, v: jnp.fill_diagonal(x, v, inplace=False), x, draw(r, (), dtype))
        case("fill_diagonal:", lambda x, v: jnp.fill_diagonal(x, v, inplace=False), draw(r, (3, 3, 3), dtype), draw(r, (3,), dtype))
        if dtype != "bool":
            for n in (0, 1, 3, 5):
                for increasing in (0, 1):
                    case(f"vander:{n} {increasing}", lambda x: jnp.vander(x, n, increasing=bool(increasing)), a)
    r = rng("ix")
    case("ix_:", lambda *xs: jnp.ix_(*xs), draw(r, (3,), "int32"), draw(r, (2,), "int64"))
    for shape in ((2, 3), (4,), (2, 1, 3)):
        case("indices:" + " ".join(map(str, shape)), lambda: jnp.indices(shape), positions="all")
    for n, m, k in ((3, 4, 0), (4, 3, 1), (3, 3, -1), (2, 5, 2), (3, 2, -7), (0, 0, 0)):
        case(f"tri:{n} {m} {k}", lambda: jnp.tri(n, m, k, "float32"))
        case(f"tril_indices:{n} {k} {m}", lambda: jnp.tril_indices(n, k, m), positions="all")
        case(f"triu_indices:{n} {k} {m}", lambda: jnp.triu_indices(n, k, m), positions="all")
    case("identity:4", lambda: jnp.identity(4, "float32"))
    for dtype in FLOATS:
        for start, stop, num, end in ((0, 2, 5, 1), (-1, 1.5, 7, 0), (1, 1, 1, 1), (0, 1, 0, 1)):
            case(f"logspace:{start} {stop} {num} {end} {dtype}", lambda: jnp.logspace(start, stop, num, bool(end), dtype=dtype))
        for start, stop, num, end in ((1, 1000, 4, 1), (-2, -0.125, 6, 0), (3, 3, 2, 1), (1e-3, 1e3, 9, 1)):
            case(f"geomspace:{start} {stop} {num} {end} {dtype}", lambda: jnp.geomspace(start, stop, num, bool(end), dtype=dtype))
    grad_case("diagonal:1 0 1", lambda x: jnp.diagonal(x, 1), draw(r, (3, 4), "float32"))
    grad_case("diagflat:1", lambda x: jnp.diagflat(x, 1), draw(r, (3,), "float32"))
    grad_case("vander:4 0", lambda x: jnp.vander(x, 4), draw(r, (3,), "float64"))
    grad_case("fill_diagonal:", lambda x, v: jnp.fill_diagonal(x, v, inplace=False), draw(r, (3, 4), "float32"), draw(r, (3,), "float32"))
    write("grids")


# --- sets.h, ordering.h, places.h
def sets():
    for dtype in INTS + ("float32", "bool"):
        r = rng("sets" + dtype)
        ties = dict(ties=True)
        x, y = draw(r, (4, 6), dtype, **ties), draw(r, (9,), dtype, **ties)
        empty = np.zeros((0,), dtype)
        for v in (x, y, empty):
            case("nonzero_all:", jnp.nonzero, v, positions="all")
            case("argwhere_all:", jnp.argwhere, v, positions="all")
            case("flatnonzero_all:", jnp.flatnonzero, v, positions="all")
            case("unique_all_all:", lambda x: jnp.unique(x, return_index=True, return_inverse=True, return_counts=True), v, positions=(1, 2, 3))
            for name in ("intersect1d", "union1d", "setdiff1d", "setxor1d"):
                case(f"{name}_all:", getattr(jnp, name), v, y)
            for invert in (0, 1):
                case(f"isin:{invert}", lambda x, t: jnp.isin(x, t, invert=bool(invert)), v, y[:4])
        for size in (2, 7, 30):
            case(f"nonzero:{size} -1", lambda x: jnp.nonzero(x, size=size, fill_value=-1), x, positions="all")
            case(f"unique:{size}", lambda x: jnp.unique(x, size=size), x)
            if dtype != "bool":
                case(f"unique_fill:{size}", lambda x: jnp.unique(x, size=size, fill_value=3), x)
            case(f"setdiff1d:{size}", lambda x, y: jnp.setdiff1d(x, y, size=size), x, y)
            case(f"union1d:{size}", lambda x, y: jnp.union1d(x, y, size=size), x, y)
            if dtype != "bool":
                case(f"intersect1d:{size} 3", lambda x, y: jnp.intersect1d(x, y, size=size, fill_value=3), x, y)
        rows = draw(r, (6, 2), dtype, **ties)
        rows[3] = rows[1]
        rows[5] = rows[1]
        case("unique_axis:0", lambda x: jnp.unique(x, axis=0, return_index=True, return_inverse=True, return_counts=True), rows, positions=(1, 2, 3))
        case("unique_axis:1", lambda x: jnp.unique(x, axis=1, return_index=True, return_inverse=True, return_counts=True), rows.T.copy(), positions=(1, 2, 3))
        case("extract_all:", jnp.extract, draw(r, (4, 6), "bool"), x)
        case("extract:9", lambda c, x: jnp.extract(c, x, size=9, fill_value=0), draw(r, (4, 6), "bool"), x)
        case("where_all:", lambda c: jnp.where(c), draw(r, (4, 6), "bool"), positions="all")
    nans = np.array([2, np.nan, 1, np.nan, np.inf, -0.0, 0.0, 1, -np.inf], "float32")
    case("unique_all_all:", lambda x: jnp.unique(x, return_index=True, return_inverse=True, return_counts=True), nans, positions=(1, 2, 3))
    case("isin:0", jnp.isin, nans, nans[:4])
    for dtype in INTS + FLOATS:
        r = rng("order" + dtype)
        a = np.sort(draw(r, (11,), dtype, ties=True))
        v = draw(r, (3, 7), dtype, ties=True, edges=True)
        for side in ("left", "right"):
            case(f"searchsorted:{side}", lambda a, v: jnp.searchsorted(a, v, side=side), a, v, positions="all")
            case(f"searchsorted:{side}", lambda a, v: jnp.searchsorted(a, v, side=side), np.sort(draw(r, (8,), dtype, edges=True)), v, positions="all")
            case(f"searchsorted:{side}", lambda a, v: jnp.searchsorted(a, v, side=side), a[:0], v, positions="all")
        s = draw(r, (9,), dtype)
        case("searchsorted_sorter:", lambda a, v, s: jnp.searchsorted(a, v, sorter=s), s, v, np.argsort(s).astype("int32"), positions="all")
        for right in (0, 1):
            case(f"digitize:{right}", lambda x, b: jnp.digitize(x, b, bool(right)), v, np.unique(a), positions="all")
            case(f"digitize:{right}", lambda x, b: jnp.digitize(x, b, bool(right)), v, np.unique(a)[::-1].copy(), positions="all")
        k1, k2 = draw(r, (3, 8), dtype, ties=True), draw(r, (3, 8), "int32")
        for axis in (0, -1):
            case(f"lexsort:{axis}", lambda a, b: jnp.lexsort((a, b), axis), k1, k2 // 4, positions="all")
            case(f"sort_key_val:{axis}", lambda a, b: lax.sort_key_val(a, b, axis), k1, k2)
        for kth, axis in ((0, -1), (3, -1), (-2, 1), (1, 0)):
            case(f"partition:{kth} {axis}", lambda x: jnp.sort(jnp.partition(x, kth, axis), axis), k1)
        case("approx_max_k:3", lambda x: lax.approx_max_k(x.astype("float32"), 3), draw(r, (2, 9), "float32"), positions=(1,))
        case("approx_min_k:2", lambda x: lax.approx_min_k(x.astype("float32"), 2), draw(r, (2, 9), "float32"), positions=(1,))
    for dtype in INTS + ("float32",):
        r = rng("places" + dtype)
        c = [draw(r, s, dtype) for s in ((4, 5), (5,), (4, 1))]
        for mode in ("clip", "wrap"):
            case(f"choose:{mode}", lambda i, *c: jnp.choose(i, list(c), mode=mode), draw(r, (4, 5), "int32"), *c)
        x = draw(r, (4, 5), dtype)
        case("place:", lambda x, m, v: jnp.place(x, m, v, inplace=False), x, draw(r, (4, 5), "bool"), draw(r, (3,), dtype))
        order = np.argsort(r.random((4, 5)), axis=1).astype("int32")
        case("put_along_axis:1", lambda x, i, v: jnp.put_along_axis(x, i, v, axis=1, inplace=False), x, order[:, :2] - 5, draw(r, (4, 2), dtype))
        case("put_along_axis:0", lambda x, i, v: jnp.put_along_axis(x, i, v, axis=0, inplace=False), x,
             np.argsort(r.random((4, 5)), axis=0).astype("int64")[:1], draw(r, (), dtype))
        for i in (0, 2, -1, 9):
            at = np.array(i, "int32")
            for axis in (0, -1):
                for keep in (0, 1):
                    case(f"dynamic_index_in_dim:{axis} {keep}", lambda x, i: lax.dynamic_index_in_dim(x, i, axis, bool(keep)), x, at)
                case(f"dynamic_slice_in_dim:2 {axis}", lambda x, i: lax.dynamic_slice_in_dim(x, i, 2, axis), x, at)
                u = draw(r, (2, 5) if axis == 0 else (4, 2), dtype)
                case(f"dynamic_update_slice_in_dim:{axis}", lambda x, u, i: lax.dynamic_update_slice_in_dim(x, u, i, axis), x, u, at)
                u = draw(r, (5,) if axis == 0 else (4,), dtype)
                case(f"dynamic_update_index_in_dim:{axis}", lambda x, u, i: lax.dynamic_update_index_in_dim(x, u, i, axis), x, u, at)
        g = lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,))
        rows = np.array([[0], [3], [1]], "int32")
        case("gather:", lambda x, i: lax.gather(x, i, g, (1, 5)), x, rows)
        s = lax.ScatterDimensionNumbers(update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,))
        for name in ("scatter", "scatter_add"):
            case(f"{name}:", lambda x, i, u: getattr(lax, name)(x, i, u, s), x, rows, draw(r, (3, 5), dtype))
    r = rng("unravel")
    p = r.integers(0, 24, (3, 4)).astype("int32")
    case("unravel_index:2 3 4", lambda p: jnp.unravel_index(p, (2, 3, 4)), p, positions="all")
    case("ravel_multi_index:2 3 4", lambda a, b, c: jnp.ravel_multi_index((a, b, c), (2, 3, 4), mode="clip"), p // 12, p // 4 % 3, p % 4, positions="all")
    grad_case("put_along_axis:1", lambda x, i, v: jnp.put_along_axis(x, i, v, axis=1, inplace=False), draw(r, (2, 3), "float32"),
              np.array([[1], [2]], "int32"), draw(r, (2, 1), "float32"))
    grad_case("choose:clip", lambda i, *c: jnp.choose(i, list(c), mode="clip"), np.array([0, 1, 1], "int32"), draw(r, (3,), "float32"), draw(r, (3,), "float32"))
    write("sets")
