"""The side of PyTorch of `warpwright bench … --rival`: answers requests on standard input.

A request for a problem is answered with the names of the implementations, separated by tabs, and `time INDEX` with the microseconds of a launch of one
of them between two events. `results INDEX FOLDER` stores the results of one of them, a dictionary of matrices that its function returns, as files of
the folder, and is answered with `stored`.
"""

import gc
import sys

import torch


def time(run):
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    run()
    # The launch is queued by the time that the device starts to measure.
    torch.cuda._sleep(1_000_000)
    start.record()
    run()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) * 1e3


def store(run, folder):
    for name, matrix in run().items():
        with open(f"{folder}/{name}.bin", "wb") as file:
            file.write(matrix.contiguous().view(torch.int16).cpu().numpy().tobytes())


def usable(candidates):
    """Those of the named functions that do not fail."""
    found = {}
    for name, run in candidates:
        try:
            run()
            torch.cuda.synchronize()
            found[name] = run
        except Exception as error:  # Compilers raise their own.
            print(f"{name}: {str(error)[:200]}", file=sys.stderr)
    return found


def serve(problems):
    """Answers requests; `problems` maps each request to a function of its words that returns the implementations by name."""
    runs = []
    for line in sys.stdin:
        request, *words = line.split()
        if request in problems:
            # The memory of the preceding problem is free before the next one allocates its own.
            runs = found = None
            gc.collect()
            torch.cuda.empty_cache()
            found = problems[request](*words)
            runs = list(found.values())
            print("\t".join(found), flush=True)
        elif request == "results":
            store(runs[int(words[0])], words[1])
            print("stored", flush=True)
        else:
            print(time(runs[int(words[0])]), flush=True)
