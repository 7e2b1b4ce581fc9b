# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s %root
#
# Models of `echelon zoo` train: the loss falls, whatever the family, tied or not, with stored or made values, with a
# sequence that the spec binds.
import json
import os
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


if __name__ == "__main__":
    main()
