"""Times linear attention of PyTorch for `warpwright bench linear --rival "python3 benches/linear.py"`.

Requests on standard input: `begin MODEL BATCHES HEADS LENGTH`, answered with the names of the implementations, separated by tabs, and `time INDEX`,
answered with the microseconds of a launch between two events. Each model is written as its paper defines it, in chunks, and compiled by
`torch.compile`.
"""

import sys

import torch

from rival import serve, usable

CHUNK = 64


def in_chunks(x):
    """Splits the tokens, the last dimension but one."""
    return x.unflatten(-2, (-1, CHUNK))


def shifted_sums(states):
    """The sums of the states of all chunks before each."""
    sums = states.cumsum(2)
    return torch.cat([torch.zeros_like(sums[:, :, :1]), sums[:, :, :-1]], 2)


def features(x):
    """φ of Based: 1, x / √√16 and x ⊗ x / √(2·16)."""
    x = x / 2
    pairs = (x.unsqueeze(-1) * x.unsqueeze(-2)).flatten(-2) / 2**0.5
    return torch.cat([torch.ones_like(x[..., :1]), x, pairs], -1)


def taylor(q, k, v, normalized=False):
    q, k, v = in_chunks(q), in_chunks(k), in_chunks(v)
    s = (q @ k.mT).float() / 4
    weights = (1 + s + s * s / 2).tril()
    of_keys, of_queries = features(k), features(q)
    states = shifted_sums((of_keys.mT @ v).float()).to(v.dtype)
    o = weights.to(v.dtype) @ v + of_queries @ states
    if normalized:
        before = shifted_sums(of_keys.float().sum(-2)).unsqueeze(-2)
        o = o / (weights.sum(-1, keepdim=True) + (of_queries * before).sum(-1, keepdim=True)).to(v.dtype)
    return o.flatten(2, 3)


def decayed_chunks(q, k, v, logs):
    """Σ exp(Σ logs over the tokens behind j up to i) · (qᵢ·kⱼ) · vⱼ; logs of batches, heads and tokens."""
    q, k, v = in_chunks(q), in_chunks(k), in_chunks(v)
    sums = logs.unflatten(-1, (-1, CHUNK)).cumsum(-1)
    between = (sums.unsqueeze(-1) - sums.unsqueeze(-2)).tril().exp().tril()
    inside = ((q @ k.mT) * between).to(v.dtype) @ v
    last = sums[..., -1:]
    added = (k * (last - sums).exp().unsqueeze(-1).to(k.dtype)).mT @ v
    # What is left of each chunk before each other one.
    ends = torch.nn.functional.pad(last.squeeze(-1), (1, 0)).cumsum(-1)
    left = (ends.unsqueeze(-1) - ends.unsqueeze(-2)).tril().exp().tril()[..., :-1, 1:].tril(-1)
    before = torch.einsum("bhzc,bhcdp->bhzdp", left.to(v.dtype), added)
    return (inside + (q @ before) * sums.exp().unsqueeze(-1).to(v.dtype)).flatten(2, 3)


def decayed(q, k, v, logs):
    return decayed_chunks(q, k, v, logs.view(1, -1, 1).expand(q.shape[0], -1, q.shape[2]))


def state_space(c, b, x, steps, logs):
    return decayed_chunks(c, b, x * steps.unsqueeze(-1).to(x.dtype), steps * logs.view(1, -1, 1))


def learned(x, maps):
    """φ of Hedgehog: softmax(x·W) and softmax(−x·W)."""
    mapped = (x @ maps).float()
    return torch.cat([mapped.softmax(-1), (-mapped).softmax(-1)], -1).to(x.dtype)


def hedgehog(q, k, v, of_q, of_k):
    of_queries, of_keys = in_chunks(learned(q, of_q)), in_chunks(learned(k, of_k))
    q, k, v = in_chunks(q), in_chunks(k), in_chunks(v)
    before = lambda x: torch.cat([torch.zeros_like(x[:, :, :1]), x[:, :, :-1]], 2)
    scores = (q @ torch.cat([before(k), k], -2).mT).float()
    token = torch.arange(CHUNK, device=q.device).view(1, -1, 1)
    key = torch.arange(-CHUNK, CHUNK, device=q.device).view(1, 1, -1)
    chunk = torch.arange(q.shape[2], device=q.device).view(-1, 1, 1)
    scores = scores.masked_fill((key > token) | (key + CHUNK * chunk < 0), -torch.inf)
    weights = (scores - scores.amax(-1, keepdim=True)).exp()
    states = before(shifted_sums((of_keys.mT @ v).float())).to(v.dtype)
    sums = before(shifted_sums(of_keys.float().sum(-2))).unsqueeze(-2)
    o = weights.to(v.dtype) @ torch.cat([before(v), v], -2) + of_queries @ states
    return (o / (weights.sum(-1, keepdim=True) + (of_queries * sums).sum(-1, keepdim=True)).to(v.dtype)).flatten(2, 3)


def problem(model, batches, heads, length):
    normal = lambda heads, columns: torch.randn(
        [batches, heads, length, columns], device="cuda", dtype=torch.bfloat16
    )
    if model.endswith("taylor"):
        inputs = normal(heads, 16), normal(heads, 16), normal(heads, 64)
        return taylor, (*inputs, model == "normalized-taylor")
    if model == "hedgehog":
        maps = [torch.randn([heads, 64, 64], device="cuda", dtype=torch.bfloat16) / 16 for _ in range(2)]
        return hedgehog, (normal(heads, 64), normal(heads, 64), normal(heads, 64), *maps)
    if model == "decayed":
        logs = -torch.exp2(-8 * torch.arange(1, heads + 1, device="cuda") / heads)
        return decayed, (normal(heads, 128), normal(heads, 128), normal(heads, 128), logs)
    size = int(model.removeprefix("state-space"))
    steps = (torch.randn([batches, heads, length], device="cuda") - 4).exp().clamp(max=0.5)
    logs = -1.0 - torch.arange(heads, device="cuda")
    return state_space, (normal(1, size), normal(1, size), normal(heads, 64), steps, logs)


def begin(model, batches, heads, length):
    torch._dynamo.reset()
    torch.manual_seed(0)
    run, inputs = problem(model, int(batches), int(heads), int(length))
    compiled = torch.compile(run, dynamic=False)
    return usable([("torch.compile", lambda: compiled(*inputs))])


def main():
    torch.set_grad_enabled(False)
    print(f"PyTorch {torch.__version__}", file=sys.stderr)
    serve({"begin": begin})


if __name__ == "__main__":
    main()
