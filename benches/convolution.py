"""Times convolutions of PyTorch for `warpwright bench convolution --rival "python3 benches/convolution.py"`.

Requests on standard input: `begin BATCHES CHANNELS LENGTH`, answered with the names of the implementations, separated by tabs, and `time INDEX`, answered
with the microseconds of a launch between two events. Transforms are those of real numbers, by cuFFT in f32: it has none of bf16.
"""

import sys

import torch

from rival import serve, usable


def convolution(u, spectrum):
    length = u.shape[-1]
    return torch.fft.irfft(torch.fft.rfft(u.float()) * spectrum, n=length).to(u.dtype)


def begin(batches, channels, length):
    torch.manual_seed(0)
    batches, channels, length = int(batches), int(channels), int(length)
    u = torch.randn([batches, channels, length], device="cuda", dtype=torch.bfloat16)
    spectrum = torch.fft.rfft(torch.randn([channels, length], device="cuda"))
    compiled = torch.compile(convolution, dynamic=False)
    return usable(
        [
            ("torch.fft", lambda: convolution(u, spectrum)),
            ("torch.fft, torch.compile", lambda: compiled(u, spectrum)),
        ]
    )


def main():
    torch.set_grad_enabled(False)
    print(f"PyTorch {torch.__version__}", file=sys.stderr)
    serve({"begin": begin})


if __name__ == "__main__":
    main()
