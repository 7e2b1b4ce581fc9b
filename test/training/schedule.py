# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s %root
#
# The learning rate of each step, as the metrics tell it, against the schedule's formula.
import math
import os
import sys

sys.path.insert(0, os.path.join(sys.argv.pop(), "test", "training"))
from command import CommandTest, main


class Schedule(CommandTest):
    def setUp(self):
        super().setUp()
        self.zoo()
        self.tokens()

    def rates(self, schedule, steps):
        self.spec({"batch": {"micro": 4}, "optimizer": {"lr": 0.01, "schedule": schedule}})
        self.compile("m.onnx", "m.train", "--train", "train.json")
        self.run_words("./m.train", "--data", "t.bin", "--steps", steps, "--metrics", "m.jsonl")
        return [line["lr"] for line in self.lines("m.jsonl")]

    def check_rates(self, schedule, formula, steps=14):
        for step, rate in enumerate(self.rates(schedule, steps)):
            # The rate is computed in f32: 2^-24 an operation, some ten of them.
            self.assertLess(abs(rate - formula(step)), 1e-6 * 0.01, "step %d" % step)

    def test_constant_with_warmup(self):
        self.check_rates({"kind": "constant"}, lambda t: 0.01)
        self.check_rates({"kind": "constant", "warmup_steps": 5}, lambda t: 0.01 * min(1, (t + 1) / 5))

    def test_linear(self):
        """After the warmup a straight line to min_lr in the last of total_steps, which then stays."""
        self.check_rates({"kind": "linear", "warmup_steps": 4, "total_steps": 12, "min_lr": 0.002},
                         lambda t: 0.01 * (t + 1) / 4 if t < 4
                         else 0.002 + 0.008 * (1 - min(1, (t - 4) / 7)))

    def test_cosine(self):
        self.check_rates({"kind": "cosine", "warmup_steps": 4, "total_steps": 12, "min_lr": 0.002},
                         lambda t: 0.01 * (t + 1) / 4 if t < 4
                         else 0.002 + 0.008 * 0.5 * (1 + math.cos(math.pi * min(1, (t - 4) / 7))))


if __name__ == "__main__":
    main()
