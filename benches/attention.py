"""Times attention of PyTorch for `warpwright bench attention --rival "python3 benches/attention.py"`, and for `bench cached`.

Requests on standard input: `begin BATCHES HEADS LENGTH HEAD_SIZE VALUE_SIZE full|causal DROPOUT`, answered with the names of the implementations that can solve the
problem, separated by tabs, `backward …` with the same words for the derivatives, `cached BATCHES HEADS KV_HEADS QUERIES LENGTH HEAD_SIZE`, answered in the same way, and `time INDEX`, answered with the microseconds of a launch between two events. `given …`, with the words of `begin` and a folder, reads Q, K, V and
dO from the folder; `results INDEX FOLDER` stores O and the gradients there.
"""

import sys

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from rival import serve, usable

BACKENDS = {"cuDNN": SDPBackend.CUDNN_ATTENTION, "FlashAttention-2": SDPBackend.FLASH_ATTENTION}


def with_backend(backend, q, k, v, causal, dropout):
    def run():
        with sdpa_kernel(backend):
            return scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=causal)

    return run


def candidates(q, k, v, causal, dropout):
    """Names and functions of the implementations."""
    for name, backend in BACKENDS.items():
        yield name, with_backend(backend, q, k, v, causal, dropout)
    if dropout > 0:
        return
    try:
        from flash_attn_interface import flash_attn_func
    except ImportError:
        return
    rows = [x.transpose(1, 2).contiguous() for x in (q, k, v)]
    yield "FlashAttention-3", lambda: flash_attn_func(*rows, causal=causal)


def begin(batches, heads, length, head_size, value_size, mask, dropout):
    torch.manual_seed(0)
    rows = [int(size) for size in (batches, heads, length)]
    q, k, v = (
        torch.randn([*rows, int(size)], device="cuda", dtype=torch.bfloat16)
        for size in (head_size, head_size, value_size)
    )
    return usable(candidates(q, k, v, mask == "causal", float(dropout)))


def backward(batches, heads, length, head_size, value_size, mask, dropout):
    torch.manual_seed(0)
    rows = [int(size) for size in (batches, heads, length)]
    q, k, v = (
        torch.randn([*rows, int(size)], device="cuda", dtype=torch.bfloat16, requires_grad=True)
        for size in (head_size, head_size, value_size)
    )
    gradient = torch.randn([*rows, int(value_size)], device="cuda", dtype=torch.bfloat16)

    def derivatives(run):
        output = run()
        gradients = gradient.reshape(output.shape)
        return lambda: torch.autograd.grad(output, (q, k, v), gradients, retain_graph=True)

    runs = []
    for name, run in candidates(q, k, v, mask == "causal", float(dropout)):
        try:
            runs.append((name, derivatives(run)))
        except RuntimeError as error:
            print(f"{name}: {error}", file=sys.stderr)
    return usable(runs)


def given(batches, heads, length, head_size, value_size, mask, dropout, folder):
    def matrix(name, size):
        with open(f"{folder}/{name}.bin", "rb") as file:
            bits = torch.frombuffer(bytearray(file.read()), dtype=torch.bfloat16)
        return bits.reshape(int(batches), int(heads), int(length), int(size)).cuda()

    q, k, v = (matrix(name, size).requires_grad_() for name, size in (("q", head_size), ("k", head_size), ("v", value_size)))
    gradient = matrix("do", value_size)

    def results(run):
        def of():
            output = run()
            gradients = torch.autograd.grad(output, (q, k, v), gradient.reshape(output.shape))
            return dict(zip(("o", "dq", "dk", "dv"), (output.detach(), *gradients)))

        return of

    implementations = candidates(q, k, v, mask == "causal", float(dropout))
    return usable((name, results(run)) for name, run in implementations if name in BACKENDS)


def cached(batches, heads, kv_heads, queries, length, head_size):
    torch.manual_seed(0)
    batches, heads, kv_heads, queries, length, size = (
        int(n) for n in (batches, heads, kv_heads, queries, length, head_size)
    )
    q = torch.randn([batches, heads, queries, size], device="cuda", dtype=torch.bfloat16)
    k, v = (torch.randn([batches, kv_heads, length, size], device="cuda", dtype=torch.bfloat16) for _ in range(2))

    def with_cache(backend):
        def run():
            with sdpa_kernel(backend):
                return scaled_dot_product_attention(q, k, v, enable_gqa=True)

        return run

    return usable((name, with_cache(backend)) for name, backend in BACKENDS.items())


def main():
    print(f"PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}", file=sys.stderr)
    serve({"begin": begin, "backward": backward, "given": given, "cached": cached})


if __name__ == "__main__":
    main()
