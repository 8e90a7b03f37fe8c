"""Writes the arrays of a script to a safetensors file beside it."""
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "golden"))
import tensor_file


def save(script, tensors):
    """Writes the file beside `script`, under its name."""
    tensor_file.write(pathlib.Path(script).with_suffix(".safetensors"), tensors)
