# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s %bin
#
# Bad input to the training binary: each case ends with its exit code and one line that says
# what is wrong, where, and what to do.
import os
import struct
import unittest

from fixtures import (RuntimeTest, batch_tensors, read_file, token_list, weights_bytes, write_file,
                      write_safetensors)


class Flags(RuntimeTest):
    def test_usage(self):
        for texts, arguments in [
                (["give the data"], ["--steps", 1]),
                (["unknown flag '--step'", "did you mean '--steps'"], ["--step", 1]),
                (["unexpected argument 'x'"], ["x"]),
                (["--steps needs a value"], ["--data", "t.bin", "--steps"]),
                (["--steps '-1' is not a whole number above 0"], ["--steps", "-1"]),
                (["--data needs --steps"], ["--data", "t.bin"]),
                (["exclude each other"], ["--data", "t.bin", "--batches", "b", "--steps", 1]),
                (["--save-every needs --out"],
                 ["--data", "t.bin", "--steps", 1, "--save-every", 1]),
                (["--eval-every needs --eval-data"],
                 ["--data", "t.bin", "--steps", 1, "--eval-every", 1]),
                (["--peak-tflops 'inf'"], ["--peak-tflops", "inf"]),
                (["--token-dtype 'uint61'", "did you mean 'uint16'"],
                 ["--data", "t.bin", "--steps", 1, "--token-dtype", "uint61"])]:
            with self.subTest(texts[0]):
                self.fails(2, texts, *arguments)

    def test_unknown_environment_variable(self):
        self.fails(2, ["ECHELON_THREAD", "did you mean 'ECHELON_THREADS'"],
                   "--data", "t.bin", "--steps", 1, env={"ECHELON_THREAD": "2"})


class Tokens(RuntimeTest):
    def test_files(self):
        self.write_tokens("empty.bin", [])
        self.write_tokens("short.bin", [1, 2, 3])
        write_file(self.path("odd.bin"), bytes(1001))
        self.write_tokens("odd.u32.bin", token_list(333))
        os.mkdir(self.path("folder.bin"))
        for name, texts in [("missing.bin", ["cannot open", "No such file"]),
                            ("empty.bin", ["is empty"]),
                            ("short.bin", ["has 3 tokens", "needs 7"]),
                            ("odd.bin", ["1001 bytes", "no whole number of uint16"]),
                            ("odd.u32.bin", ["666 bytes", "no whole number of uint32"]),
                            ("folder.bin", ["not a regular file"])]:
            with self.subTest(name):
                self.fails(1, texts + [name], "--data", name, "--steps", 1)

    def test_id_beyond_the_vocabulary(self):
        tokens = token_list(1000)
        tokens[500] = 16
        self.write_tokens("t.bin", tokens)
        self.fails(1, ["error: step ", "input '", "has value 16 at position ",
                       "outside of [", "from sample 83 of 't.bin'"],
                   "--data", "t.bin", "--steps", 100)

    def test_evaluation_file_too_short(self):
        self.write_tokens("e.bin", token_list(13))
        self.fails(1, ["'e.bin' has 2 samples", "needs 4"],
                   "--data", "t.bin", "--steps", 1, "--eval-data", "e.bin")


class Batches(RuntimeTest):
    def batches_fail(self, code, texts, *arguments, change=lambda t: None, steps=3, rows=4):
        tensors = batch_tensors(steps, rows)
        change(tensors)
        write_safetensors(self.path("b.safetensors"), tensors)
        # Nothing may be trained: the error comes before step 0.
        self.fails(code, texts, "--batches", "b.safetensors", "--metrics", "m.jsonl", *arguments)
        self.assertFalse(os.path.exists(self.path("m.jsonl")))

    def test_names(self):
        self.batches_fail(1, ["'2.labels'", "has no tensor"],
                          change=lambda t: t.pop("2.labels"))
        self.batches_fail(1, ["'1.input_ids'", "has no tensor"], change=lambda t: (
            t.pop("1.input_ids"), t.pop("1.labels")))
        self.batches_fail(1, ["'0.input_idx'", "did you mean 'input_ids'"],
                          change=lambda t: t.update({"0.input_idx": t["0.input_ids"]}))
        self.batches_fail(1, ["'labels' is not named <step>.<input>"],
                          change=lambda t: t.update({"labels": t["0.labels"]}))
        self.batches_fail(1, ["'01.labels' is not named"],
                          change=lambda t: t.update({"01.labels": t["1.labels"]}))

    def test_types_and_shapes(self):
        self.batches_fail(1, ["'1.labels' has dtype F32", "needs I64"],
                          change=lambda t: t.update({"1.labels": ("F32", [4, 6], [0.0] * 24)}))
        self.batches_fail(1, ["'1.labels' has shape [4,5]", "has [4,6]"],
                          change=lambda t: t.update({"1.labels": ("I64", [4, 5], [0] * 20)}))
        self.batches_fail(1, ["'1.labels' has shape [24]"],
                          change=lambda t: t.update({"1.labels": ("I64", [24], [0] * 24)}))
        self.batches_fail(1, ["6 rows", "no multiple of the microbatch of 4"], rows=6)
        self.batches_fail(1, ["'1.labels' has 8 rows, others have 4"],
                          change=lambda t: t.update({"1.labels": ("I64", [8, 6], [0] * 48)}))

    def test_steps_and_accumulation(self):
        self.batches_fail(1, ["batches for 3 steps", "--steps asks for 4"], "--steps", 4)
        self.batches_fail(2, ["--accumulate 3", "have 8 rows", "2 microbatches of 4"],
                          "--accumulate", 3, rows=8)

    def test_values(self):
        def poison(name, index, value):
            return lambda t: t[name][2].__setitem__(index, value)
        self.batches_fail(1, ["step 1", "'input_ids' has value 16 at position 7", "[-16, 16)"],
                          change=poison("1.input_ids", 7, 16))
        self.batches_fail(1, ["step 2", "'labels' has value -5 at position 30", "[0, 16)", "-100"],
                          change=poison("2.labels", 30, -5), rows=8)
        self.batches_fail(1, ["-17"], change=poison("0.input_ids", 0, -17))

    def test_a_step_without_valid_labels(self):
        tensors = batch_tensors(3, 4)
        tensors["1.labels"] = ("I64", [4, 6], [-100] * 24)
        write_safetensors(self.path("b.safetensors"), tensors)
        self.fails(1, ["step 1", "no valid label"], "--batches", "b.safetensors")

    def test_hostile_files(self):
        good = self.path("good.safetensors")
        write_safetensors(good, batch_tensors(2, 4))
        data = read_file(good)
        for name, content in [
                ("truncated", data[:-8]), ("longer", data + b"x"), ("no header", data[:7]),
                ("huge header", struct.pack("<Q", 2 ** 63) + data[8:]),
                ("no json", struct.pack("<Q", 4) + b"{{{{"),
                ("text", b"hello, world, this is no tensor file")]:
            with self.subTest(name):
                write_file(self.path("bad.safetensors"), content)
                self.fails(1, ["bad.safetensors"], "--batches", "bad.safetensors")


class Weights(RuntimeTest):
    def fail(self, code, texts, *arguments):
        self.fails(code, texts, "--data", "t.bin", "--steps", 1, *arguments)

    def test_missing(self):
        os.remove(self.path("tiny.weights"))
        self.fail(1, ["weights file", "tiny.weights", "--weights"])

    def test_changed(self):
        data = bytearray(weights_bytes())
        data[130] ^= 1
        write_file(self.path("tiny.weights"), data)
        self.fail(1, ["tiny.weights", "'shift.f64'", "2874f162d432ab31", "has changed"])

    def test_truncated(self):
        write_file(self.path("tiny.weights"), weights_bytes()[:200])
        self.fail(1, ["has 200 bytes", "'shift.f64' ends at 256"])

    def test_safetensors_by_names(self):
        full = {"embed.weight": ("F32", [16, 8], [0.1] * 128),
                "head.weight": ("F32", [8, 16], [0.1] * 128)}
        full.update({name: ("BF16", [16], [0x3F80] * 16)
                     for name in ("head.bias", "shift.f32", "shift.f64", "shift.bf16")})
        write_safetensors(self.path("w.safetensors"), full)
        self.run_tiny("--data", "t.bin", "--steps", 1, "--weights", "w.safetensors")
        for texts, change in [
                (["no tensor 'head.bias'", "did you mean"], {"head.bias": None}),
                (["shape [16]", "has [8,16]"], {"head.weight": ("F32", [16], [0] * 16)}),
                (["dtype I32", "needs F32"], {"head.bias": ("I32", [16], [0] * 16)})]:
            tensors = {k: v for k, v in {**full, **change}.items() if v}
            write_safetensors(self.path("w.safetensors"), tensors)
            self.fail(1, texts + ["w.safetensors"], "--weights", "w.safetensors")


class Numerics(RuntimeTest):
    def test_loss_that_is_no_number_stops_and_keeps_the_checkpoint(self):
        self.run_tiny("--data", "t.bin", "--steps", 4, "--out", "run")
        self.fails(77, ["step 5", "loss is nan", "--check-numerics"], "--data", "t.bin",
                   "--steps", 9, "--out", "run", "--resume", "run", "--save-every", 1,
                   "--metrics", "m.jsonl", env={"TINY_NAN_STEP": "5"})
        self.assertEqual(sorted(os.listdir(self.path("run"))),
                         ["latest", "step-000004", "step-000005"])
        last = self.lines("m.jsonl")[-1]
        self.assertEqual((last["step"], last["loss"], last["grad_norm"]), (5, None, None))

    def test_the_check_names_the_first_place(self):
        self.fails(77, ["step 2", "'head/MatMul' gave inf at element 3 of 384"],
                   "--data", "t.bin", "--steps", 9, "--check-numerics",
                   binary="tiny_checked", env={"TINY_NAN_STEP": "2"})

    def test_a_program_without_checks_says_so(self):
        self.fails(2, ["--check-numerics", "compiled without it"],
                   "--data", "t.bin", "--steps", 9, "--check-numerics")


if __name__ == "__main__":
    unittest.main()
