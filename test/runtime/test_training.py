# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s %bin
#
# Training with token files and explicit batches: losses, metrics, data order, flags, weights.
import json
import math
import os
import struct
import subprocess
import time
import unittest

from fixtures import (CLASSES, MICRO, SEQUENCE, RuntimeTest, batch_tensors, read_file,
                      read_safetensors, token_list, weights_bytes, write_file, write_safetensors)


def reference(weights, batches, steps):
    """The tiny program's training in Python floats, from given initial values."""
    e, h, b = ([list(row) for row in weights[0]], [list(row) for row in weights[1]],
               list(weights[2]))
    shift, width = weights[3], len(h)
    momenta, results = {}, []
    for step in range(steps):
        de = [[0.0] * width for _ in e]
        dh = [[0.0] * CLASSES for _ in h]
        db, loss, count = [0.0] * CLASSES, 0.0, 0
        ids, labels = batches["%d.input_ids" % step][2], batches["%d.labels" % step][2]
        for i, y in zip(ids, labels):
            if y == -100:
                continue
            z = [b[v] + shift[v] + sum(e[i][d] * h[d][v] for d in range(width))
                 for v in range(CLASSES)]
            top = max(z)
            total = sum(math.exp(x - top) for x in z)
            loss += math.log(total) + top - z[y]
            count += 1
            for v in range(CLASSES):
                g = math.exp(z[v] - top) / total - (v == y)
                db[v] += g
                for d in range(width):
                    dh[d][v] += e[i][d] * g
                    de[i][d] += h[d][v] * g
        flat = [x for m in (de, dh, [db]) for row in m for x in row]
        norms = [math.sqrt(sum(x * x for row in m for x in row)) / count for m in (de, dh, [db])]
        results.append((loss / count, math.sqrt(sum(x * x for x in flat)) / count, count, norms))
        rate = 0.5 / (1 + 0.01 * step)
        for key, values, gradients in (("e", e, de), ("h", h, dh), ("b", [b], [db])):
            state = momenta.setdefault(key, [[0.0] * len(row) for row in values])
            for row, gradient, momentum in zip(values, gradients, state):
                for j in range(len(row)):
                    momentum[j] = 0.9 * momentum[j] + gradient[j] / count
                    row[j] -= rate * momentum[j]
    return results


def unpack(tensor):
    shape, values = tensor[1], struct.unpack("<%df" % (len(tensor[2]) // 4), tensor[2])
    if len(shape) == 1:
        return list(values)
    return [list(values[i:i + shape[1]]) for i in range(0, len(values), shape[1])]


class Training(RuntimeTest):
    def test_losses_equal_an_independent_implementation(self):
        write_safetensors(self.path("b.safetensors"), batch_tensors(6, 8))
        # The initial values come from --weights here, so that the reference can know them.
        source = {"embed.weight": [[0.1 * math.sin(3 * i + d) for d in range(8)]
                                   for i in range(CLASSES)],
                  "head.weight": [[0.2 * math.cos(5 * d + v) for v in range(CLASSES)]
                                  for d in range(8)]}
        tensors = {name: ("F32", [len(m), len(m[0])], [x for row in m for x in row])
                   for name, m in source.items()}
        tensors["head.bias"] = ("F64", [16], [0.01 * i for i in range(16)])
        for name in ("shift.f32", "shift.f64", "shift.bf16"):
            tensors[name] = ("F32", [16], [0.125] * 16)
        write_safetensors(self.path("w.safetensors"), tensors)
        self.run_tiny("--batches", "b.safetensors", "--weights", "w.safetensors",
                      "--metrics", "n.jsonl", "--gradient-norms", "g.json", "--accumulate", 2)
        expected = reference([source["embed.weight"], source["head.weight"],
                              tensors["head.bias"][2], [0.375] * 16], batch_tensors(6, 8), 6)
        norms = json.loads(read_file(self.path("g.json")))
        self.assertEqual(list(norms), ["embed.weight", "head.weight", "head.bias"])
        for found, norm in zip(norms.values(), expected[0][3]):
            self.assertLess(abs(found / norm - 1), 1e-5)
        lines = self.lines("n.jsonl")
        self.assertEqual(len(lines), 6)
        for step, (line, (loss, norm, count, _)) in enumerate(zip(lines, expected)):
            # f32 sums of 8 x 6 terms: 48 x 2^-24 is 3e-6 relative at worst.
            self.assertEqual(line["step"], step)
            self.assertLess(abs(line["loss"] / loss - 1), 1e-5)
            self.assertLess(abs(line["grad_norm"] / norm - 1), 1e-5)
            self.assertEqual(line["tokens"], count)
            self.assertAlmostEqual(line["lr"], 0.5 / (1 + 0.01 * step), places=6)

    def test_weights_file_initialises_in_all_dtypes(self):
        self.run_tiny("--data", "t.bin", "--steps", 1, "--out", "run")
        model = read_safetensors(self.path("run/latest/model.safetensors"))
        self.assertEqual(sorted(model), ["embed.weight", "head.bias", "head.weight",
                                         "shift.bf16", "shift.f32", "shift.f64"])
        self.assertEqual(model["shift.f32"][2], weights_bytes()[64:128])
        for i, value in enumerate(unpack(model["shift.f64"])):
            self.assertAlmostEqual(value, 0.02 * (8 - i), places=7)
        for i, value in enumerate(unpack(model["shift.bf16"])):
            self.assertAlmostEqual(value, 0.03 * (i % 5), delta=0.03 * 4 / 256)

    def test_loss_falls_and_log_lines_show_it(self):
        out, _ = self.run_tiny("--data", "t.bin", "--steps", 200, "--log-every", 50,
                               "--metrics", "m.jsonl", "--peak-tflops", 0.5)
        losses = self.losses("m.jsonl")
        self.assertLess(sum(losses[-20:]) / 20, 0.6 * losses[0])
        steps = [line.split()[1] for line in out.splitlines() if line.startswith("step")]
        self.assertEqual(steps, ["1/200", "50/200", "100/200", "150/200", "200/200"])
        self.assertRegex(out, r"step +1/200  loss \d\.\d{5}  grad_norm \d\.\d{4}  lr 5\.00e-01  "
                              r"mem 0\.00GiB  tok/s [\d,]+  tflop/s \d\.\d{4}  mfu \d+\.\d%  hfu")
        planned = [line for line in out.splitlines() if line.startswith("memory")][0]
        planned, mapped = planned.split("planned ")[1].split(" bytes, mapped ")
        self.assertEqual(planned, mapped.split(" ")[0])

    def test_metrics_have_all_keys_and_null_without_a_peak(self):
        self.run_tiny("--data", "t.bin", "--steps", 2, "--metrics", "m.jsonl")
        line = self.lines("m.jsonl")[0]
        self.assertEqual(list(line), ["step", "loss", "grad_norm", "lr", "tokens",
                                      "tokens_per_second", "step_seconds", "mfu", "mfu_causal",
                                      "hfu", "memory_bytes"])
        self.assertIsNone(line["mfu"])
        program = json.loads(self.run_tiny("--print-program")[0])
        self.assertEqual(line["memory_bytes"], sum(a["bytes"] for a in program["arenas"]))

    def test_peak_of_the_doctor_file_is_per_thread(self):
        os.makedirs(self.path("cache/echelon"))
        write_file(self.path("cache/echelon/doctor.json"), b'{"peak_flops_f32": 1e9}')
        self.run_tiny("--data", "t.bin", "--steps", 1, "--metrics", "m.jsonl", "--threads", 2)
        line = self.lines("m.jsonl")[0]
        flops = 6.0 * MICRO * SEQUENCE * 8 * CLASSES
        self.assertAlmostEqual(line["mfu"] * line["step_seconds"] * 2e9 / flops, 1, places=6)
        self.assertAlmostEqual(line["mfu_causal"] / line["mfu"], 5 / 6, places=6)
        self.assertAlmostEqual(line["hfu"] / line["mfu"], 8 / 6, places=6)

    def test_accumulation_gives_the_same_training(self):
        write_safetensors(self.path("b.safetensors"), batch_tensors(8, 4))
        self.run_tiny("--batches", "b.safetensors", "--metrics", "a.jsonl")
        self.run_tiny("--batches", "b.safetensors", "--metrics", "b.jsonl", binary="tiny_micro1")
        self.run_tiny("--data", "t.bin", "--steps", 8, "--metrics", "c.jsonl")
        self.run_tiny("--data", "t.bin", "--steps", 8, "--metrics", "d.jsonl",
                      binary="tiny_micro1")
        for first, second in (("a.jsonl", "b.jsonl"), ("c.jsonl", "d.jsonl")):
            for a, b in zip(self.lines(first), self.lines(second)):
                self.assertLess(abs(a["loss"] / b["loss"] - 1), 2e-6)
                self.assertLess(abs(a["grad_norm"] / b["grad_norm"] - 1), 1e-5)
                self.assertEqual(a["tokens"], b["tokens"])

    def test_threads_and_repeats_are_bit_identical(self):
        seen = set()
        for threads in (1, 2, 3, 1):
            self.run_tiny("--data", "t.bin", "--steps", 20, "--threads", threads,
                          "--metrics", "m.jsonl", "--out", "run%d" % len(os.listdir(self.folder)))
            seen.add(json.dumps([(l["loss"], l["grad_norm"]) for l in self.lines("m.jsonl")]))
        self.assertEqual(len(seen), 1)

    def test_seed_changes_values_and_order(self):
        for seed in (1, 2):
            self.run_tiny("--data", "t.bin", "--steps", 3, "--seed", seed,
                          "--metrics", "m%d.jsonl" % seed)
        self.assertNotEqual(self.losses("m1.jsonl"), self.losses("m2.jsonl"))

    def test_wide_and_narrow_tokens_agree(self):
        self.write_tokens("t.u32.bin", token_list(1000), "I")
        os.rename(self.path("t.bin"), self.path("t.u16.bin"))
        for name in ("t.u16.bin", "t.u32.bin"):
            self.run_tiny("--data", name, "--steps", 3, "--metrics", name + ".jsonl")
        self.assertEqual(self.losses("t.u16.bin.jsonl"), self.losses("t.u32.bin.jsonl"))

    def test_i32_batches_are_widened(self):
        for dtype in ("I32", "I64"):
            write_safetensors(self.path("b.safetensors"), batch_tensors(3, 4, dtype))
            self.run_tiny("--batches", "b.safetensors", "--metrics", dtype)
        self.assertEqual(self.losses("I32"), self.losses("I64"))

    def test_evaluation_is_printed_and_recorded(self):
        self.write_tokens("e.bin", token_list(300, seed=9))
        out, _ = self.run_tiny("--data", "t.bin", "--steps", 25, "--eval-data", "e.bin",
                               "--eval-every", 10, "--metrics", "m.jsonl")
        found = {line["step"]: line["eval_loss"] for line in self.lines("m.jsonl")
                 if "eval_loss" in line}
        self.assertEqual(list(found), [9, 19, 24])
        self.assertLess(found[24], found[9])
        self.assertEqual(out.count("eval_loss"), 3)
        # Evaluation must not disturb the training.
        self.run_tiny("--data", "t.bin", "--steps", 25, "--metrics", "n.jsonl")
        self.assertEqual(self.losses("m.jsonl"), self.losses("n.jsonl"))

    def test_moved_weights_are_found_with_the_flag(self):
        os.mkdir(self.path("elsewhere"))
        self.run_tiny("--data", "t.bin", "--steps", 2, "--metrics", "a.jsonl")
        os.rename(self.path("tiny.weights"), self.path("elsewhere/tiny.weights"))
        for weights in ("elsewhere/tiny.weights", "elsewhere"):
            self.run_tiny("--data", "t.bin", "--steps", 2, "--metrics", "b.jsonl",
                          "--weights", weights)
            self.assertEqual(self.losses("a.jsonl"), self.losses("b.jsonl"))

    def test_flags_come_from_the_environment(self):
        out, _ = self.run_tiny("--data", "t.bin", env={"ECHELON_STEPS": "2"})
        self.assertIn("2/2", out)
        out, _ = self.run_tiny("--data=t.bin", "--steps=3", env={"ECHELON_STEPS": "2"})
        self.assertIn("3/3", out)

    def test_help_and_version(self):
        out, _ = self.run_tiny("--help")
        self.assertLessEqual(len(out.splitlines()), 40)
        for flag in ("--data", "--resume", "--check-numerics"):
            self.assertIn(flag, out)
        self.assertIn("00112233445566aa", self.run_tiny("--version")[0])

    def test_starts_within_100_ms(self):
        """Best of five, because the machine may be loaded."""
        self.install("tiny")
        best = 1e9
        for _ in range(5):
            start = time.monotonic()
            self.run_tiny("--data", "t.bin", "--steps", 1)
            best = min(best, time.monotonic() - start)
        self.assertLess(best, 0.1)

    def test_binary_is_small(self):
        target = self.install("tiny")
        if b"__asan_" in read_file(target) or b"__tsan_" in read_file(target):
            self.skipTest("sanitizers are linked in")
        subprocess.run(["strip", target], check=True)
        self.assertLessEqual(os.stat(target).st_size, 1 << 20)


if __name__ == "__main__":
    unittest.main()
