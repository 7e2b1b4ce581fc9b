# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s %root
#
# `echelon inspect` and the binary tell the same numbers about a model as arithmetic does: parameters, operations, bytes.
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(sys.argv.pop(), "test", "training"))
from command import CommandTest, main


class Inspect(CommandTest):
    """Numbers of `inspect` against arithmetic: h the width, f that of the MLP, v the vocabulary, s the sequence."""

    def numbers(self, family, matrices, vectors, layers=2):
        h, v, s, micro = 16, 32, 8, 4
        count = matrices + vectors
        out, _ = self.echelon("zoo", family, "--layers", layers, "--hidden", h, "--heads", 4, "--ffn", 32, "--vocab",
                              v, "--seq", s, "-o", "m.onnx")
        self.assertIn("%s parameters in" % format(count, ","), out)
        self.spec({"batch": {"micro": micro}})
        out, _ = self.echelon("inspect", "m.onnx", "--train", "train.json", "--buffers")
        self.assertRegex(out, r"(?m)^%d parameters in \d+ tensors, %d trained$" % (count, count))
        listed = re.search(r"(?s)parameters:\n(.*?)\n\d", out).group(1)
        self.assertEqual(sum(self.size(shape) for shape in re.findall(r"\[([\d, ]+)\]", listed)), count)
        # A multiply-add is two operations; backward contracts for the input and for the parameter.
        contracted = matrices - v * h - (s * h if family == "gpt" else 0)
        forward = 2 * micro * s * contracted
        self.assertEqual(self.gflops(out, "evaluate", "graph.einsum"), float("%.4g" % (forward * 1e-9)))
        self.assertEqual(self.gflops(out, "microbatch", "graph.einsum"), float("%.4g" % (3 * forward * 1e-9)))
        # Adam keeps two numbers a parameter; the sizes here need no padding.
        memory = {name: int(size) for name, size in re.findall(r"(?m)^  ([a-z]+) +(\d+) bytes", out)}
        self.assertEqual([memory[name] for name in ("weights", "gradients", "optimizer")],
                         [4 * count, 4 * count, 8 * count])
        self.assertEqual(memory["inputs"], 2 * micro * s * 8)
        self.assertEqual(memory["total"], sum(memory.values()) - memory["total"])
        peak, bound = map(int, re.search(r"packed peak (\d+) bytes, lower bound (\d+) bytes", out).groups())
        self.assertEqual((peak, bound <= peak), (memory["activations"], True))
        self.check_binary(memory, 6 * micro * s * contracted + 12 * layers * h * s * micro * s)

    def size(self, shape):
        result = 1
        for dim in shape.split(", "):
            result *= int(dim)
        return result

    def gflops(self, out, function, op):
        part = re.search(r"(?s)@%s:.*?(?=\n@|\nmemory)" % function, out).group()
        return float(re.search(r"%s +\d+ +(\S+) GFLOP" % re.escape(op), part).group(1))

    def check_binary(self, memory, palm):
        """The binary maps those bytes, and counts 6 N + 12 L H Q T operations a token (Chowdhery et al. 2022)."""
        self.tokens()
        self.compile("m.onnx", "m.train", "--train", "train.json")
        program = json.loads(self.run_words("./m.train", "--print-program")[0])
        self.assertEqual({arena["name"]: arena["bytes"] for arena in program["arenas"]},
                         {name: size for name, size in memory.items() if name != "total"})
        self.assertEqual(program["flops_palm"], palm)
        self.run_words("./m.train", "--data", "t.bin", "--steps", 1, "--metrics", "m.jsonl")
        self.assertEqual(self.lines("m.jsonl")[0]["memory_bytes"], memory["total"])

    def test_gpt(self):
        h, f, v, s = 16, 32, 32, 8
        self.numbers("gpt", 2 * v * h + s * h + 2 * (4 * h * h + 2 * h * f), 2 * (4 * h + 4 * h + f + h) + 2 * h)

    def test_llama(self):
        h, f, v = 16, 32, 32
        self.numbers("llama", 2 * v * h + 2 * (4 * h * h + 3 * h * f), 2 * 2 * h + h)


if __name__ == "__main__":
    main()
