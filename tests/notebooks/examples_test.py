"""Runs the notebooks of examples/notebooks and compares their outputs with the stored ones; --write stores them.

Texts have to be equal, except that a number may differ in its last digits: on another kind of processor, sums are added in another order.
Pictures of the same kind have to have the same size, and a plot the same points to a fifth of a pixel. Of a cell with the tag `varies`, which
prints times, only the kinds of its outputs are compared."""
import pathlib
import re
import resource
import sys
import time
import unittest

import nbclient
import nbformat

folder = pathlib.Path(__file__).resolve().parents[2] / "examples/notebooks"
NUMBER = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?")


def run(path):
    """A notebook with new outputs, and the seconds of its first cell and of the others."""
    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(notebook, kernel_name="tessera", timeout=300, record_timing=False, coalesce_streams=True,
                                     resources={"metadata": {"path": str(folder)}})
    times = []
    with client.setup_kernel():
        for k, cell in enumerate(notebook.cells):
            if cell.cell_type == "code":
                begin = time.monotonic()
                client.execute_cell(cell, k)
                times.append(time.monotonic() - begin)
    notebook.metadata.pop("language_info", None)
    return notebook, times


def same_text(a, b, tolerance):
    """Whether texts are equal but for small differences of numbers with a point, and for the spaces that fill columns of numbers."""
    a, b = re.sub(" +", " ", a), re.sub(" +", " ", b)
    if NUMBER.sub("#", a) != NUMBER.sub("#", b):
        return False
    return all(abs(float(x) - float(y)) <= tolerance * max(1.0, abs(float(x)) * 1e-3) for x, y in zip(NUMBER.findall(a), NUMBER.findall(b)))


def outputs(cell):
    """The outputs of a cell as pairs of a kind and a text."""
    found = []
    for output in cell.outputs:
        if output.output_type == "stream":
            if found and found[-1][0] == output.name:
                found[-1] = (output.name, found[-1][1] + output.text)
            else:
                found.append((output.name, output.text))
        elif output.output_type == "error":
            found.append(("error", "\n".join(output.traceback)))
        else:
            found += [(kind, "".join(data)) for kind, data in sorted(output.data.items())]
    return found


def difference(old, new):
    """What is different between the outputs of a cell, or None."""
    a, b = outputs(old), outputs(new)
    if [kind for kind, _ in a] != [kind for kind, _ in b]:
        return f"the kinds are {[kind for kind, _ in b]}, stored {[kind for kind, _ in a]}"
    if "varies" in old.metadata.get("tags", []):
        return None
    for (kind, x), (_, y) in zip(a, b):
        if kind == "image/png":
            if x[:40] != y[:40]:  # the signature and the size
                return "the image has another size"
        elif not same_text(x, y, 0.2 if kind == "image/svg+xml" else 2e-3):
            return f"{kind}:\n{y}\nstored:\n{x}"
    return None


class Notebooks(unittest.TestCase):
    pass


def add(path):
    def test(self):
        stored = nbformat.read(path, as_version=4)
        new, _ = run(path)
        for k, (old_cell, new_cell) in enumerate(zip(stored.cells, new.cells)):
            if old_cell.cell_type == "code":
                problem = difference(old_cell, new_cell)
                self.assertIsNone(problem, f"{path.name}, cell {k}:\n{old_cell.source}\n{problem}")
    setattr(Notebooks, f"test_{path.stem}", test)


for found in sorted(folder.glob("*.ipynb")):
    add(found)


class Comparison(unittest.TestCase):
    """The comparison itself finds differences."""

    def test_texts(self):
        self.assertTrue(same_text("loss 0.1234", "loss 0.1235", 2e-3))
        self.assertFalse(same_text("loss 0.12", "loss 0.22", 2e-3))
        self.assertFalse(same_text("loss 0.12", "Loss 0.12", 2e-3))
        self.assertFalse(same_text("8 devices", "4 devices", 2e-3))


if __name__ == "__main__":
    if "--write" in sys.argv:
        for found in sorted(folder.glob("*.ipynb")):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            written, seconds = run(found)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            nbformat.write(written, found)
            print(f"{found.name}: {len(seconds)} cells in {sum(seconds):.1f} s, {processor:.1f} s of processor time; the first {seconds[0]:.2f} s, the others "
                  f"{sorted(seconds[1:])[len(seconds) // 2]:.2f} s (the middle one), at most {max(seconds[1:]):.2f} s", flush=True)
    else:
        unittest.main()
