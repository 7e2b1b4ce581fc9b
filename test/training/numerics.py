# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s %root
#
# Training that explodes stops with exit code 77: with --check-numerics at the first op whose result is not finite,
# named as the model names it, otherwise at the loss, with the advice to look closer. The last good checkpoint stays.
import os
import re
import sys

sys.path.insert(0, os.path.join(sys.argv.pop(), "test", "training"))
from command import CommandTest, main, read_file

# 1e30 a step: after the first update every product of two parameters is beyond f32.
EXPLODES = {"optimizer": {"lr": 1e30, "weight_decay": 0}, "batch": {"micro": 4}}


class Numerics(CommandTest):
    def build(self, *flags, family="gpt"):
        self.zoo("m.onnx", family)
        self.spec(EXPLODES)
        self.tokens()
        self.compile("m.onnx", "m.train", "--train", "train.json", *flags)

    def explode(self, *flags):
        return self.fails(77, ["error: step "], "./m.train", "--data", "t.bin", "--steps", 20, "--metrics", "m.jsonl",
                          "--out", "run", "--save-every", 1, *flags)

    def node_names(self):
        """Every name in the file; node names of the zoo have a slash."""
        return set(re.findall(r"[\w.]+(?:/[\w.]+)+", read_file(self.path("m.onnx")).decode("latin-1")))

    def test_the_check_names_the_first_op(self):
        for family in ("gpt", "llama"):
            with self.subTest(family):
                self.build("--check-numerics", family=family)
                err = self.explode("--check-numerics")
                place = re.search(r"'(\S+) \(ech_\w+\)' gave (?:-?inf|-?nan) at element \d+ of \d+", err)
                self.assertIsNotNone(place, err)
                self.assertIn(place.group(1), self.node_names())
                self.run_words("rm", "-r", "run")

    def test_the_same_place_each_time(self):
        self.build("--check-numerics")
        first = self.explode("--check-numerics")
        self.run_words("rm", "-r", "run")
        self.assertEqual(self.explode("--check-numerics", "--threads", 2), first)

    def test_without_the_check_the_loss_stops(self):
        self.build()
        err = self.explode()
        self.assertRegex(err, r"loss is (nan|-nan|inf)")
        self.assertIn("--check-numerics", err)

    def test_the_last_line_and_the_last_good_checkpoint_stay(self):
        self.build()
        self.explode()
        lines = self.lines("m.jsonl")
        self.assertIsNone(lines[-1]["loss"])
        self.assertTrue(all(line["loss"] is not None for line in lines[:-1]))
        saved = sorted(name for name in os.listdir(self.path("run")) if name.startswith("step-"))
        self.assertEqual(saved[-1], "step-%06d" % lines[-1]["step"])
        self.assertFalse([name for name in saved if "." in name])

    def test_a_binary_without_checks_says_so(self):
        self.build()
        self.fails(2, ["--check-numerics", "compiled without it"], "./m.train", "--data", "t.bin", "--steps", 2,
                   "--check-numerics")

    def test_checks_change_no_bit(self):
        self.zoo()
        self.spec({"batch": {"micro": 4}})
        self.tokens()
        results = []
        for flags in ([], ["--check-numerics"]):
            self.compile("m.onnx", "m.train", "--train", "train.json", *flags)
            self.run_words("./m.train", "--data", "t.bin", "--steps", 4, "--metrics", "m.jsonl", *flags)
            results.append(self.losses("m.jsonl"))
        self.assertEqual(results[0], results[1])


if __name__ == "__main__":
    main()
