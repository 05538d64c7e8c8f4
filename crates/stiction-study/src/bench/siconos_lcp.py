"""Times Siconos's lexicographic Lemke on LCP folders (M.mtx, q.mtx), one JSON line per folder.

Only the call of the driver is timed, with the problem in memory: best of five, or fewer once a second has passed.
"""

import json
import sys
import time

import numpy as np
import siconos.numerics as sn

sn.numerics_set_verbose(0)


def read(path):
    """A Matrix Market file, coordinate or array, as a dense matrix."""
    with open(path) as file:
        is_coordinate = "coordinate" in file.readline()
        lines = [line.split() for line in file if line.strip() and not line.startswith("%")]
    rows, columns = int(lines[0][0]), int(lines[0][1])
    if not is_coordinate:
        return np.array([float(line[0]) for line in lines[1:]]).reshape((rows, columns), order="F")
    matrix = np.zeros((rows, columns))
    for i, j, value in lines[1:]:
        matrix[int(i) - 1, int(j) - 1] = float(value)
    return matrix


for folder in sys.argv[1:]:
    matrix, offset = read(folder + "/M.mtx"), read(folder + "/q.mtx").ravel()
    problem = sn.LCP(matrix, offset)
    best, total, repeats = float("inf"), 0.0, 0
    while repeats < 5 and total < 1.0:
        options = sn.SolverOptions(sn.SICONOS_LCP_LEMKE)
        z, w = np.zeros(offset.size), np.zeros(offset.size)
        began = time.thread_time()
        sn.linearComplementarity_driver(problem, z, w, options)
        spent = time.thread_time() - began
        best, total, repeats = min(best, spent), total + spent, repeats + 1
    residual = np.abs(np.minimum(z, matrix @ z + offset)).max() if np.isfinite(z).all() else float("inf")
    error = residual / np.abs(offset).max()
    print(json.dumps({"time": best, "error": error if np.isfinite(error) else 1e300}), flush=True)
