# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s %root
#
# Models of `echelon zoo` train: the loss falls, whatever the family, tied or not, with stored or made values, with a
# sequence that the spec binds. `inspect` and the binary tell the same numbers about them as arithmetic does.
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(sys.argv.pop(), "test", "training"))
from command import CommandTest, main, read_safetensors

SPEC = {"optimizer": {"lr": 0.02}, "batch": {"micro": 8}}


def mean(values):
    return sum(values) / len(values)


class Zoo(CommandTest):
    def learns(self, *flags):
        """Thirty steps on text whose next token is mostly the last plus one: from ln 32 = 3.47 to well below."""
        self.tokens()
        self.compile("m.onnx", "m.train", "--train", "train.json")
        self.run_words("./m.train", "--data", "t.bin", "--steps", 30, "--metrics", "m.jsonl", "--out", "run", *flags)
        losses = self.losses("m.jsonl")
        self.assertLess(abs(losses[0] - 3.4657), 0.6)
        self.assertLess(mean(losses[-5:]), losses[0] - 0.7)
        return read_safetensors(self.path("run/latest/model.safetensors"))

    def test_gpt(self):
        self.zoo("m.onnx", "gpt")
        self.spec(SPEC)
        self.assertIn("lm_head.weight", self.learns())

    def test_llama_with_grouped_heads(self):
        self.zoo("m.onnx", "llama")
        self.spec(SPEC)
        shapes = {name: shape for name, (_, shape, _) in self.learns().items()}
        self.assertIn([16, 8], [sorted(shape, reverse=True) for shape in shapes.values()])  # 2 key heads of 4

    def test_tied(self):
        for family in ("gpt", "llama"):
            with self.subTest(family):
                self.zoo("m.onnx", family)
                self.spec(SPEC)
                untied = self.learns()
                self.zoo("m.onnx", family, "--tie")
                self.run_words("rm", "-r", "run")
                self.assertEqual(len(self.learns()), len(untied) - 1)
                self.run_words("rm", "-r", "run")

    def test_without_weights(self):
        for family in ("gpt", "llama"):
            with self.subTest(family):
                self.zoo("m.onnx", family, "--no-weights")
                self.spec({**SPEC, "parameters": {"init": {"kind": "normal", "std": 0.05}}})
                self.learns()
                self.run_words("rm", "-r", "run")

    def test_other_first_values(self):
        """The kinds of parameters.init for matrices; vectors keep the model's."""
        self.zoo()
        self.tokens()
        values = {}
        for kind in ("normal", "uniform", "xavier", "zeros", "ones"):
            self.spec({"optimizer": {"lr": 0, "weight_decay": 0}, "batch": {"micro": 8},
                       "parameters": {"init": {"kind": kind, **({"std": 0.1} if kind in ("normal", "uniform") else {})}}})
            self.compile("m.onnx", "m.train", "--train", "train.json")
            self.run_words("./m.train", "--data", "t.bin", "--steps", 1, "--out", "run-" + kind)
            tensor = read_safetensors(self.path("run-" + kind, "latest", "model.safetensors"))["lm_head.weight"]
            self.assertEqual(sorted(tensor[1]), [16, 32])
            values[kind] = memoryview(tensor[2]).cast("f").tolist()
        self.assertEqual((set(values["zeros"]), set(values["ones"])), ({0.0}, {1.0}))
        # 512 values: the standard deviation is known to 1 / sqrt(2 x 512) = 3 % of itself; 4 sigma are 13 %.
        for kind in ("normal", "uniform"):
            self.assertLess(abs(mean([x * x for x in values[kind]]) ** 0.5 / 0.1 - 1), 0.13)
        self.assertLessEqual(max(map(abs, values["uniform"])), 0.1 * 3 ** 0.5 * 1.000001)
        # Glorot: uniform within sqrt(6 / (16 + 32)).
        bound = (6 / 48) ** 0.5
        self.assertLessEqual(max(map(abs, values["xavier"])), bound * 1.000001)
        self.assertGreater(max(map(abs, values["xavier"])), 0.9 * bound)

    def test_a_symbolic_sequence(self):
        self.zoo("m.onnx", "gpt", "--symbolic-seq")
        self.tokens()
        for length in (8, 5):
            self.spec({**SPEC, "symbols": {"seq": length}})
            self.compile("m.onnx", "m.train", "--train", "train.json")
            program = json.loads(self.run_words("./m.train", "--print-program")[0])
            shapes = {entry["name"]: entry["shape"] for entry in program["inputs"]}
            self.assertEqual(shapes, {"input_ids": [8, length], "labels": [8, length]})
            self.run_words("./m.train", "--data", "t.bin", "--steps", 2, "--metrics", "m.jsonl")
            self.assertEqual([line["tokens"] for line in self.lines("m.jsonl")], [8 * length] * 2)

    def test_dropout_off(self):
        """Dropout nodes of a model count only with dropout "honour", which is a later step."""
        self.zoo("m.onnx", "gpt", "--dropout", "0.1")
        self.spec(SPEC)
        self.fails(1, ["Dropout", "set dropout to \"off\""], "echelon", "compile", "m.onnx", "--train", "train.json",
                   "-o", "m.train")
        self.spec({**SPEC, "dropout": "off"})
        self.learns()

    def test_train_is_compile_and_run(self):
        self.zoo()
        self.spec(SPEC)
        self.tokens()
        _, err = self.echelon("train", "m.onnx", "--train", "train.json", "--data", "t.bin", "--steps", 3,
                              "--metrics", "a.jsonl")
        commands = [line for line in err.splitlines() if line.startswith(("echelon compile", "./m.train"))]
        self.assertEqual(len(commands), 2, err)
        os.remove(self.path("m.train"))
        for command in commands:  # the commands that it prints do the same
            self.run_words(*command.replace("a.jsonl", "b.jsonl").split())
        self.assertEqual(self.losses("a.jsonl"), self.losses("b.jsonl"))


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
