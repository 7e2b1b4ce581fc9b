# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s %root
#
# A run that stops and continues is the run that does not stop, bit for bit: losses, norms, rates, parameters and
# optimizer state, over an optimizer schedule that depends on the step.
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(sys.argv.pop(), "test", "training"))
from command import SCHEDULED, CommandTest, main, read_file

FILES = ("model.safetensors", "optimizer.safetensors")
KEYS = ("step", "loss", "grad_norm", "lr", "tokens")


class Resume(CommandTest):
    def setUp(self):
        super().setUp()
        self.zoo()
        self.spec(SCHEDULED)
        self.tokens()
        self.compile("m.onnx", "m.train", "--train", "train.json", "--accumulate", 2)

    def train(self, steps, out, *more, binary="./m.train", **options):
        return self.run_words(binary, "--data", "t.bin", "--steps", steps, "--out", out, *more, **options)

    def tensors(self, out):
        return [read_file(self.path(out, "latest", name)) for name in FILES]

    def values(self, *names):
        return [tuple(line[key] for key in KEYS) for name in names for line in self.lines(name)]

    def test_six_and_six_are_twelve(self):
        self.train(12, "whole", "--metrics", "whole.jsonl")
        self.train(6, "part", "--metrics", "a.jsonl")
        self.train(12, "part", "--resume", "part", "--metrics", "b.jsonl")
        self.assertEqual(len(self.lines("b.jsonl")), 6)
        self.assertEqual(self.values("a.jsonl", "b.jsonl"), self.values("whole.jsonl"))
        self.assertEqual(self.tensors("part"), self.tensors("whole"))

    def test_metrics_of_one_file_continue(self):
        self.train(12, "whole", "--metrics", "whole.jsonl")
        self.train(6, "part", "--metrics", "m.jsonl")
        self.train(12, "part", "--resume", "part", "--metrics", "m.jsonl")
        self.assertEqual(self.values("m.jsonl"), self.values("whole.jsonl"))

    def test_another_binary_of_the_same_inputs_continues(self):
        self.train(12, "whole")
        self.train(6, "part")
        self.compile("m.onnx", "again.train", "--train", "train.json", "--accumulate", 2)
        self.train(12, "part", "--resume", "part", binary="./again.train")
        self.assertEqual(self.tensors("part"), self.tensors("whole"))

    def test_the_weights_file_is_not_needed_any_more(self):
        self.train(6, "part")
        os.remove(self.path("m.onnx"))
        self.train(8, "part", "--resume", "part")

    def test_a_signal_saves_and_the_run_continues(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(number.name):
                out, metrics = "run-" + number.name, number.name + ".jsonl"
                # Shells and test runners may start their children with SIGINT ignored, which a run respects.
                process = self.start("./m.train", "--data", "t.bin", "--steps", 100000, "--out", out, "--metrics",
                                     metrics, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
                self.wait_for_steps(metrics)
                process.send_signal(number)
                _, err = process.communicate(timeout=60)
                self.assertEqual(process.returncode, 85, err)
                self.assertIn("stopped by " + number.name, err)
                self.assertIn("--resume '%s'" % out, err)
                done = self.line_count(metrics)
                self.train(done + 3, out, "--resume", out, "--metrics", metrics)
                self.train(done + 3, out + "-whole", "--metrics", "whole.jsonl")
                self.assertEqual(self.values(metrics), self.values("whole.jsonl"))
                self.assertEqual(self.tensors(out), self.tensors(out + "-whole"))

    def test_an_ignored_signal_stays_ignored(self):
        """As under nohup: the parent's will, not the program's."""
        process = self.start("./m.train", "--data", "t.bin", "--steps", 400, "--out", "run", "--metrics", "m.jsonl",
                             preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
        self.wait_for_steps("m.jsonl")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, err)
        self.assertEqual(self.line_count("m.jsonl"), 400)

    def wait_for_steps(self, metrics):
        deadline = time.monotonic() + 60
        while not (os.path.exists(self.path(metrics)) and self.line_count(metrics) > 3):
            self.assertLess(time.monotonic(), deadline, "no step within a minute")
            time.sleep(0.01)

    def line_count(self, name):
        return read_file(self.path(name)).count(b"\n")

    def test_another_seed_is_refused(self):
        self.train(6, "part")
        self.fails(2, ["--seed", "part"], "./m.train", "--data", "t.bin", "--steps", 12, "--out", "part", "--resume",
                   "part", "--seed", 7)

    def test_another_model_is_refused(self):
        """Its parameters have other shapes; nothing of the old checkpoint is touched."""
        self.train(6, "part")
        before = self.tensors("part")
        self.echelon("zoo", "gpt", "--layers", 1, "--hidden", 32, "--heads", 2, "--vocab", 32, "--seq", 8, "-o",
                     "wide.onnx")
        self.compile("wide.onnx", "wide.train", "--train", "train.json")
        self.fails(1, ["part"], "./wide.train", "--data", "t.bin", "--steps", 12, "--out", "part", "--resume", "part")
        self.assertEqual(self.tensors("part"), before)

    def test_another_plan_continues_and_says_so(self):
        """Another microbatch is another plan, but the same training: losses agree up to the order of sums."""
        self.train(12, "whole", "--metrics", "whole.jsonl")
        self.train(6, "part", "--metrics", "m.jsonl")
        self.compile("m.onnx", "other.train", "--train", "train.json", "--micro", 2, "--accumulate", 4)
        out, err = self.train(12, "part", "--resume", "part", "--metrics", "m.jsonl", binary="./other.train")
        self.assertIn("plan", out + err)
        for found, wanted in zip(self.losses("m.jsonl"), self.losses("whole.jsonl")):
            self.assertLess(abs(found / wanted - 1), 1e-5)

    def test_a_folder_with_checkpoints_of_another_run_is_refused(self):
        self.train(6, "part")
        before = self.tensors("part")
        self.fails(2, ["already holds", "--resume 'part'"], "./m.train", "--data", "t.bin", "--steps", 12, "--out",
                   "part")
        self.assertEqual(self.tensors("part"), before)


if __name__ == "__main__":
    main()
