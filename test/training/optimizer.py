# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s %root
#
# The optimizer's keys, seen from outside: the first update against AdamW's definition (its direction is the gradient's
# sign), clipping, decay with exceptions, frozen parameters.
import fnmatch
import json
import math
import os
import sys

sys.path.insert(0, os.path.join(sys.argv.pop(), "test", "training"))
from command import CommandTest, main, read_file, read_safetensors


class Optimizer(CommandTest):
    def setUp(self):
        super().setUp()
        self.zoo()
        self.tokens()

    def train(self, content, steps, out="run", metrics="m.jsonl"):
        self.spec({"batch": {"micro": 4}, **content})
        self.compile("m.onnx", "m.train", "--train", "train.json")
        self.run_words("./m.train", "--data", "t.bin", "--steps", steps, "--metrics", metrics, "--out", out,
                       "--gradient-norms", out + ".norms.json")
        return self.parameters(out)

    def parameters(self, out):
        tensors = read_safetensors(self.path(out, "latest", "model.safetensors"))
        return {name: memoryview(data).cast("f").tolist() for name, (_, _, data) in tensors.items()}

    def first_values(self):
        """What the model starts from: a step of rate zero changes nothing."""
        return self.train({"optimizer": {"lr": 0, "weight_decay": 0}}, 1, "zero")

    def test_the_first_update_is_the_rate_times_the_sign(self):
        """m / (1 - b1) = g and v / (1 - b2) = g^2, so the step is lr g / (|g| + eps)."""
        before = self.first_values()
        after = self.train({"optimizer": {"lr": 0.01, "weight_decay": 0, "eps": 1e-30}}, 1)
        for name, values in after.items():
            steps = [abs(a - b) for a, b in zip(values, before[name]) if a != b]
            self.assertTrue(steps, name)
            for step in steps:
                self.assertLess(abs(step - 0.01), 1e-6, name)  # values around 1 are known to 2^-24

    def test_decay_and_its_exceptions(self):
        """With a huge eps the gradient's part vanishes: what is left is the factor 1 - lr x weight_decay."""
        before = self.first_values()
        for no_decay, kept in ((["@1d"], lambda name, rank: rank == 1), ([], lambda name, rank: False),
                               (["*.bias", "*wte*"], lambda name, rank: any(
                                   fnmatch.fnmatchcase(name, glob) for glob in ("*.bias", "*wte*"))),
                               (["@norm"], lambda name, rank: "ln_" in name),
                               (["@bias"], lambda name, rank: name.endswith(".bias"))):
            with self.subTest(no_decay):
                out = "run-%d" % len(os.listdir(self.folder))
                after = self.train({"optimizer": {"lr": 0.1, "weight_decay": 0.5, "eps": 1e9, "no_decay": no_decay}},
                                   1, out)
                shapes = read_safetensors(self.path(out, "latest", "model.safetensors"))
                counts = set()
                for name, values in after.items():
                    is_kept = kept(name, len(shapes[name][1]))
                    counts.add(is_kept)
                    for a, b in zip(values, before[name]):
                        self.assertLess(abs(a - b * (1 if is_kept else 0.95)), 1e-6, name)
                self.assertEqual(counts, {True, False} if no_decay else {False})

    def test_clipping(self):
        """Adam forgets the scale of a gradient, so a large eps makes it visible: the step is about lr g / eps, and a
        gradient clipped to half its norm moves parameters half as far. The norm in the metrics is before clipping."""
        before = self.first_values()
        optimizer = {"lr": 1000, "weight_decay": 0, "eps": 1e4}
        free = self.train({"optimizer": optimizer}, 1, "free", "free.jsonl")
        norm = self.lines("free.jsonl")[0]["grad_norm"]
        for limit, factor in ((norm / 2, 0.5), (norm * 2, 1)):
            clipped = self.train({"optimizer": {**optimizer, "grad_clip_norm": limit}}, 1, "run-%g" % factor)
            self.assertEqual(self.lines("m.jsonl")[0]["grad_norm"], norm)
            moved = {side: sum((a - b) ** 2 for name in before for a, b in zip(values[name], before[name])) ** 0.5
                     for side, values in (("free", free), ("clipped", clipped))}
            self.assertGreater(moved["free"], 0.01)
            self.assertLess(abs(moved["clipped"] / moved["free"] - factor), 1e-3)

    def check_frozen(self, parameters, frozen):
        before = self.first_values()
        out = "run-%d" % len(os.listdir(self.folder))
        after = self.train({"optimizer": {"lr": 0.01, "weight_decay": 0.1}, "parameters": parameters}, 3, out)
        self.assertEqual(after.keys(), before.keys())
        still = {name for name in after if after[name] == before[name]}
        self.assertEqual(still, {name for name in after if frozen(name)})
        self.assertTrue(still)
        # Neither gradients nor optimizer state are kept for what is frozen.
        norms = json.loads(read_file(self.path(out + ".norms.json")))
        self.assertEqual(set(norms), set(after) - still)
        state = read_safetensors(self.path(out, "latest", "optimizer.safetensors"))
        self.assertEqual(len(state), 2 * (len(after) - len(still)))
        # The norm in the metrics is over what trains.
        line = self.lines("m.jsonl")[0]
        self.assertLess(abs(math.sqrt(sum(n * n for n in norms.values())) / line["grad_norm"] - 1), 1e-5)

    def test_frozen(self):
        self.check_frozen({"frozen": ["*ln_*", "*wte*"]}, lambda name: "ln_" in name or "wte" in name)

    def test_trainable(self):
        self.check_frozen({"trainable": ["*attn*", "lm_head*"]},
                          lambda name: "attn" not in name and not name.startswith("lm_head"))

    def test_trainable_and_frozen(self):
        self.check_frozen({"trainable": ["*attn*", "lm_head*"], "frozen": ["*.bias"]},
                          lambda name: ("attn" not in name and not name.startswith("lm_head"))
                          or name.endswith(".bias"))


if __name__ == "__main__":
    main()
