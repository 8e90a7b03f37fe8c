"""Makes names_*.safetensors: results of jax 0.10.2 on CPU for the functions of docs/names.md, over drawn shapes and dtypes:

    make_names.py [theme...]
"""
import sys

import names_arrays
import names_case
import names_numbers

THEMES = {"stacking": names_arrays.stacking, "grids": names_arrays.grids, "numeric": names_numbers.numeric,
          "statistics": names_numbers.statistics, "calculus": names_numbers.calculus, "sets": names_arrays.sets}

for name in sys.argv[1:] or [*THEMES, "halves"]:
    if name == "halves":
        names_case.halves(THEMES.values())
    else:
        THEMES[name]()
