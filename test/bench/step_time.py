#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tokens per second of training steps, Echelon beside PyTorch eager, in one run on one machine.

usage: step_time.py --echelon BIN [--threads N] [--steps N] [SHAPE ...]     SHAPE: layers,hidden,heads,vocab,sequence,rows

Both train a GPT of the shape in f32 with AdamW on random tokens: Echelon the zoo model, PyTorch the same module written
out with scaled_dot_product_attention, fused AdamW and cross_entropy. Needs torch; prints medians and the ratio.
"""
import argparse
import json
import os
import random
import statistics
import subprocess
import tempfile
import time

DEFAULT_SHAPES = ["4,128,4,256,128,16", "6,384,6,256,256,8", "4,512,8,8192,256,4"]


def echelon_seconds(binary, shape, threads, steps, folder):
    layers, hidden, heads, vocabulary, sequence, rows = shape
    model, data, spec = (os.path.join(folder, name) for name in ("m.onnx", "t.u16.bin", "t.json"))
    subprocess.run([binary, "zoo", "gpt", "--layers", str(layers), "--hidden", str(hidden), "--heads", str(heads),
                    "--vocab", str(vocabulary), "--seq", str(sequence), "-o", model], check=True, stdout=subprocess.DEVNULL)
    generator = random.Random(1)
    with open(data, "wb") as file:
        for _ in range(rows * sequence * 64):
            file.write(generator.randrange(vocabulary).to_bytes(2, "little"))
    with open(spec, "w") as file:
        json.dump({"loss": {"kind": "cross_entropy"}, "optimizer": {"kind": "adamw"}, "batch": {"micro": rows}}, file)
    metrics = os.path.join(folder, "metrics.jsonl")
    subprocess.run([binary, "train", model, "--train", spec, "--data", data, "--steps", str(steps), "--threads",
                    str(threads), "--metrics", metrics, "-o", os.path.join(folder, "binary")], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(metrics) as file:
        return [json.loads(line)["step_seconds"] for line in file][2:]


def torch_seconds(shape, threads, steps):
    import torch
    from torch import nn
    from torch.nn import functional
    layers, hidden, heads, vocabulary, sequence, rows = shape
    torch.set_num_threads(threads)

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.ln_1, self.ln_2 = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
            self.c_attn, self.c_proj = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
            self.fc, self.proj = nn.Linear(hidden, 4 * hidden), nn.Linear(4 * hidden, hidden)

        def forward(self, x):
            q, k, v = (part.view(rows, sequence, heads, -1).transpose(1, 2)
                       for part in self.c_attn(self.ln_1(x)).split(hidden, dim=2))
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.c_proj(y.transpose(1, 2).reshape(rows, sequence, hidden))
            return x + self.proj(functional.gelu(self.fc(self.ln_2(x)), approximate="tanh"))

    class Gpt(nn.Module):
        def __init__(self):
            super().__init__()
            self.wte, self.wpe = nn.Embedding(vocabulary, hidden), nn.Embedding(sequence, hidden)
            self.blocks = nn.Sequential(*[Block() for _ in range(layers)])
            self.ln_f, self.head = nn.LayerNorm(hidden), nn.Linear(hidden, vocabulary, bias=False)

        def forward(self, ids):
            x = self.wte(ids) + self.wpe(torch.arange(sequence))
            return self.head(self.ln_f(self.blocks(x)))

    model = Gpt()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    seconds = []
    for _ in range(steps):
        ids = torch.randint(0, vocabulary, (rows, sequence + 1))
        start = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        loss = functional.cross_entropy(model(ids[:, :-1]).reshape(-1, vocabulary), ids[:, 1:].reshape(-1))
        loss.backward()
        optimizer.step()
        loss.item()
        seconds.append(time.perf_counter() - start)
    return seconds[2:]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--echelon", required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--steps", type=int, default=14)
    parser.add_argument("shapes", nargs="*", default=DEFAULT_SHAPES)
    options = parser.parse_args()
    print("%-26s %14s %14s %7s" % ("shape", "echelon tok/s", "pytorch tok/s", "ratio"))
    for text in options.shapes:
        shape = [int(word) for word in text.split(",")]
        with tempfile.TemporaryDirectory() as folder:
            ours = statistics.median(echelon_seconds(os.path.abspath(options.echelon), shape, options.threads,
                                                     options.steps, folder))
        peer = statistics.median(torch_seconds(shape, options.threads, options.steps))
        tokens = shape[4] * shape[5]
        print("%-26s %14.0f %14.0f %7.2f" % (text, tokens / ours, tokens / peer, peer / ours), flush=True)


if __name__ == "__main__":
    main()
