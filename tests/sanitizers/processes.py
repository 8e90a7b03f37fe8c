"""Programs in two processes under the sanitizers: processes.py LAUNCHER PROBE CHILD KEEP_LIBRARIES.

By memory and by messages they print what one process prints, and no sanitizer finds anything. Of leaks those that Open MPI and what
it brings allocate do not count; its plug-ins stay loaded to the end (KEEP_LIBRARIES), so that they are known by their names.
"""
import os
import pathlib
import subprocess
import sys

launcher, probe, child, keep = sys.argv[1:5]
suppressions = pathlib.Path(__file__).parent / "open_mpi.supp"
environment = os.environ | {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    # Allocations of MPI are recognised by their callers, and MPI keeps no frame pointers.
    "ASAN_OPTIONS": "fast_unwind_on_malloc=0",
    "LSAN_OPTIONS": f"suppressions={suppressions}:print_suppressions=0",
}


def run(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment | more)


if run(launcher, "-n", "2", probe, ASAN_OPTIONS="detect_leaks=0").returncode:
    print(launcher, "does not work here: 0 checked")
    sys.exit(77)
for mode in ("maps", "steps", "some"):
    one = run(child, mode)
    assert one.returncode == 0 and one.stdout.count("\n") > 10, (mode, one.stdout[-3000:], one.stderr[-10000:])
    for apart in ("0", "1"):
        two = run(launcher, "-n", "2", "env", f"LD_PRELOAD={keep}", child, mode, TESSERA_APART=apart)
        assert two.returncode == 0, (mode, apart, two.stdout[-3000:], two.stderr[-10000:])
        assert two.stdout == one.stdout, (mode, apart, "other bits than in one process")
print("two processes: nothing found in 3 programs, by memory and by messages")
