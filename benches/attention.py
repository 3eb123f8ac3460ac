"""Times attention of PyTorch for `warpwright bench attention --rival "python3 benches/attention.py"`.

Requests on standard input: `begin BATCHES HEADS LENGTH HEAD_SIZE VALUE_SIZE full|causal`, answered with the names of the implementations that can solve the
problem, separated by tabs, and `time INDEX`, answered with the microseconds of a launch between two events.
"""

import sys

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

BACKENDS = {"cuDNN": SDPBackend.CUDNN_ATTENTION, "FlashAttention-2": SDPBackend.FLASH_ATTENTION}


def with_backend(backend, q, k, v, causal):
    def run():
        with sdpa_kernel(backend):
            return scaled_dot_product_attention(q, k, v, is_causal=causal)

    return run


def candidates(q, k, v, causal):
    """Names and functions of the implementations."""
    for name, backend in BACKENDS.items():
        yield name, with_backend(backend, q, k, v, causal)
    try:
        from flash_attn_interface import flash_attn_func
    except ImportError:
        return
    rows = [x.transpose(1, 2).contiguous() for x in (q, k, v)]
    yield "FlashAttention-3", lambda: flash_attn_func(*rows, causal=causal)


def begin(batches, heads, length, head_size, value_size, mask):
    torch.manual_seed(0)
    rows = [int(size) for size in (batches, heads, length)]
    q, k, v = (
        torch.randn([*rows, int(size)], device="cuda", dtype=torch.bfloat16)
        for size in (head_size, head_size, value_size)
    )
    usable = {}
    for name, run in candidates(q, k, v, mask == "causal"):
        try:
            run()
            torch.cuda.synchronize()
            usable[name] = run
        except RuntimeError as error:
            print(f"{name}: {error}", file=sys.stderr)
    return usable


def time(run):
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    run()
    start.record()
    run()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) * 1e3


def main():
    print(f"PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}", file=sys.stderr)
    runs = []
    for line in sys.stdin:
        request, *words = line.split()
        if request == "begin":
            usable = begin(*words)
            runs = list(usable.values())
            print("\t".join(usable), flush=True)
        else:
            print(time(runs[int(words[0])]), flush=True)


if __name__ == "__main__":
    main()
