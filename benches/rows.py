"""Times row kernels of PyTorch for `warpwright bench rows --rival "python3 benches/rows.py"`.

Requests on standard input: `begin KERNELS TYPE ROWS COLUMNS`, with kernels separated by commas, answered with the names of the implementations,
separated by tabs, and `time INDEX`, answered with the microseconds of a launch between two events. Each name begins with that of its kernel. Every
kernel is timed as PyTorch runs it, and compiled by `torch.compile`; gradients are those of autograd.
"""

import sys

import torch
import torch._functorch.config
import torch.nn.functional as F

from rival import serve, usable

EPSILON = 1e-5
# Elements of a row's block that have a common scale.
BLOCK = 128
# The elements of a head that is rotated.
HEAD = 128
# As many positions as the tables of `warpwright bench rows` have.
POSITIONS = 4096


def rmsnorm(x, w):
    return F.rms_norm(x, x.shape[-1:], w, EPSILON)


def layernorm(x, w, b):
    return F.layer_norm(x, x.shape[-1:], w, b, EPSILON)


def add_rmsnorm(x, r, w):
    h = x + r
    return h, rmsnorm(h, w)


def add_layernorm(x, r, w, b):
    h = x + r
    return h, layernorm(h, w, b)


def quantized(x, to, largest):
    """x in type `to` with a scale for each row, and the scales."""
    scales = x.abs().amax(-1, keepdim=True).float() / largest
    q = x.float() / scales
    return (q.round() if to == torch.int8 else q).to(to), scales


def quantized_blocks(x):
    q, scales = quantized(x.unflatten(-1, (-1, BLOCK)), torch.float8_e4m3fn, 448.0)
    return q.flatten(-2), scales


def causal(x):
    row = torch.arange(x.shape[0], device=x.device).unsqueeze(1) % x.shape[1]
    column = torch.arange(x.shape[1], device=x.device)
    return torch.softmax(x.masked_fill(column > row, -torch.inf), -1)


def prefixes(x, lengths):
    column = torch.arange(x.shape[1], device=x.device)
    return torch.softmax(x.masked_fill(column >= lengths.unsqueeze(1), -torch.inf), -1)


def halves(x, cos, sin, positions):
    cos, sin = cos[positions].unsqueeze(1), sin[positions].unsqueeze(1)
    a, b = x.unflatten(-1, (-1, HEAD)).float().chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1).to(x.dtype).flatten(1)


def adjacent(x, cos, sin, positions):
    cos, sin = cos[positions].unsqueeze(1), sin[positions].unsqueeze(1)
    a, b = x.unflatten(-1, (-1, HEAD // 2, 2)).float().unbind(-1)
    return torch.stack([a * cos - b * sin, b * cos + a * sin], -1).to(x.dtype).flatten(1)


class Problem:
    """Inputs, allocated when a kernel first uses them."""

    def __init__(self, dtype, rows, columns):
        self.dtype, self.rows, self.columns = dtype, rows, columns
        self.found = {}

    def normal(self, name, *shape):
        if name not in self.found:
            self.found[name] = torch.randn(shape, device="cuda", dtype=self.dtype)
        return self.found[name]

    def matrix(self, name):
        return self.normal(name, self.rows, self.columns)

    def vector(self, name):
        return self.normal(name, self.columns)

    def below(self, end):
        return torch.randint(end, [self.rows], device="cuda")

    def angles(self):
        half = HEAD // 2
        frequencies = 10000.0 ** (-torch.arange(half, device="cuda") / half)
        angles = torch.arange(POSITIONS, device="cuda").unsqueeze(1) * frequencies
        positions = torch.arange(self.rows, device="cuda") % POSITIONS
        return angles.cos(), angles.sin(), positions

    def forward(self, kernel):
        """The function of a kernel and its arguments; None for a gradient."""
        x, r, w, b = (lambda: self.matrix("x")), (lambda: self.matrix("r")), (lambda: self.vector("w")), (lambda: self.vector("b"))
        functions = {
            "softmax": lambda: (lambda x: torch.softmax(x, -1), x()),
            "log_softmax": lambda: (lambda x: torch.log_softmax(x, -1), x()),
            "softmax_causal": lambda: (causal, x()),
            "softmax_lengths": lambda: (prefixes, x(), self.below(self.columns) + 1),
            "rmsnorm": lambda: (rmsnorm, x(), w()),
            "rmsnorm_bias": lambda: (lambda x, w, b: rmsnorm(x, w) + b, x(), w(), b()),
            "layernorm": lambda: (layernorm, x(), w(), b()),
            "add_rmsnorm": lambda: (add_rmsnorm, x(), r(), w()),
            "add_layernorm": lambda: (add_layernorm, x(), r(), w(), b()),
            "silu": lambda: (F.silu, x()),
            "swiglu": lambda: (lambda x, u: F.silu(x) * u, x(), r()),
            "gelu": lambda: (F.gelu, x()),
            "geglu": lambda: (lambda x, u: F.gelu(x) * u, x(), r()),
            "gelu_tanh": lambda: (lambda x: F.gelu(x, approximate="tanh"), x()),
            "cast": lambda: (lambda x: x.to(torch.bfloat16 if x.dtype == torch.float32 else torch.float32), x()),
            "add": lambda: (torch.add, x(), r()),
            "quantize_row": lambda: (lambda x: quantized(x, torch.float8_e4m3fn, 448.0), x()),
            "quantize_row_s8": lambda: (lambda x: quantized(x, torch.int8, 127.0), x()),
            "quantize_block": lambda: (quantized_blocks, x()),
            "rmsnorm_quantize_row": lambda: (
                lambda x, w: quantized(rmsnorm(x, w), torch.float8_e4m3fn, 448.0),
                x(),
                w(),
            ),
            "rmsnorm_quantize_block": lambda: (lambda x, w: quantized_blocks(rmsnorm(x, w)), x(), w()),
            "swiglu_quantize_block": lambda: (lambda x, u: quantized_blocks(F.silu(x) * u), x(), r()),
            "rotary_halves": lambda: (halves, x(), *self.angles()),
            "rotary_adjacent": lambda: (adjacent, x(), *self.angles()),
            "cumsum": lambda: (lambda x: x.cumsum(-1), x()),
            "gather": lambda: (F.embedding, torch.randperm(self.rows, device="cuda"), x()),
            "sum_rows": lambda: (lambda x: x.sum(-1, dtype=torch.float32), x()),
            "max_rows": lambda: (lambda x: x.amax(-1).float(), x()),
            "argmax": lambda: (lambda x: x.argmax(-1), x()),
            "top_8": lambda: (lambda x: x.topk(8), x()),
            "top_64": lambda: (lambda x: x.topk(64), x()),
            "top_256": lambda: (lambda x: x.topk(256), x()),
            "dropout": lambda: (lambda x: F.dropout(x, 0.1), x()),
            "permute_matrix": lambda: (lambda x: x.t().contiguous(), x()),
            "sum_columns": lambda: (lambda x: x.sum(0, dtype=torch.float32), x()),
            "cross_entropy": lambda: (
                lambda x, targets: F.cross_entropy(x.float(), targets, reduction="none"),
                x(),
                self.below(self.columns),
            ),
        }
        return functions[kernel]() if kernel in functions else None


def gradient(function, inputs):
    """Runs the gradient of a function with respect to its matrices and vectors of numbers."""
    inputs = [x.detach().requires_grad_(x.is_floating_point()) for x in inputs]
    variables = [x for x in inputs if x.requires_grad]
    y = function(*inputs)
    dy = torch.randn_like(y)
    return lambda: torch.autograd.grad(y, variables, dy, retain_graph=True)


def implementations(problem, kernel):
    of = problem.forward(kernel)
    if of:
        function, *inputs = of
        compiled = torch.compile(function, dynamic=False)
        yield f"{kernel} PyTorch", lambda: function(*inputs)
        yield f"{kernel} torch.compile", lambda: compiled(*inputs)
        return
    of = problem.forward(kernel.removesuffix("_backward")) if kernel.endswith("_backward") else None
    if of:
        function, *inputs = of
        with torch.enable_grad():
            yield f"{kernel} PyTorch", gradient(function, inputs)
            yield f"{kernel} torch.compile", gradient(torch.compile(function, dynamic=False), inputs)


def begin(kernels, dtype, rows, columns):
    torch.compiler.reset()
    torch.manual_seed(0)
    types = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}
    problem = Problem(types[dtype], int(rows), int(columns))
    candidates = []
    for kernel in kernels.split(","):
        try:
            candidates.extend(implementations(problem, kernel))
        except Exception as error:  # Compilers raise their own.
            print(f"{kernel}: {str(error)[:200]}", file=sys.stderr)
    return usable(candidates)


def main():
    torch.set_grad_enabled(False)
    # Compiled gradients otherwise overwrite what the forward pass saved, and cannot run again.
    torch._functorch.config.donated_buffer = False
    print(f"PyTorch {torch.__version__}", file=sys.stderr)
    serve({"begin": begin})


if __name__ == "__main__":
    main()
