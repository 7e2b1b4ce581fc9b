# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s %bin
#
# Checkpoints: bit-identical continuation, signals, full disks, damaged and foreign folders.
import json
import os
import resource
import signal
import subprocess
import time
import unittest

from fixtures import (RuntimeTest, batch_tensors, read_file, read_safetensors, token_list, write_file,
                      write_safetensors)


class Checkpoints(RuntimeTest):
    def train(self, steps, *arguments, **more):
        return self.run_tiny("--data", "t.bin", "--steps", steps, *arguments, **more)

    def content(self, folder):
        return {name: read_file(self.path(folder + "/" + name))
                for name in ("model.safetensors", "optimizer.safetensors", "state.json")}

    def entries(self, folder="run"):
        return sorted(os.listdir(self.path(folder)))

    def test_resume_is_bit_identical(self):
        self.train(40, "--out", "whole", "--metrics", "whole.jsonl")
        self.train(13, "--out", "run", "--metrics", "m.jsonl")
        self.train(27, "--out", "run", "--metrics", "m.jsonl", "--resume", "run")
        # 170 samples in an epoch, 160 positions in 40 steps of 4: cross the epoch as well.
        self.train(40, "--out", "run", "--metrics", "m.jsonl", "--resume", "run",
                   "--threads", 2)
        self.assertEqual(self.content("whole/latest"), self.content("run/latest"))
        keep = lambda line: {k: line[k] for k in ("step", "loss", "grad_norm", "lr", "tokens")}
        self.assertEqual(list(map(keep, self.lines("whole.jsonl"))),
                         list(map(keep, self.lines("m.jsonl"))))

    def test_resume_with_batches(self):
        write_safetensors(self.path("b.safetensors"), batch_tensors(6, 8))
        self.run_tiny("--batches", "b.safetensors", "--out", "whole")
        self.run_tiny("--batches", "b.safetensors", "--steps", 2, "--out", "run")
        self.run_tiny("--batches", "b.safetensors", "--out", "run", "--resume", "run")
        self.assertEqual(self.content("whole/latest"), self.content("run/latest"))

    def test_files(self):
        self.train(5, "--out", "run", "--save-every", 2)
        self.assertEqual(self.entries(), ["latest", "step-000004", "step-000005"])
        self.assertEqual(os.readlink(self.path("run/latest")), "step-000005")
        state = json.loads(self.content("run/latest")["state.json"])
        self.assertEqual((state["step"], state["seed"], state["samples"], state["tokens"],
                          state["plan_hash"]), (5, 7, 20, 120, "00112233445566aa"))
        optimizer = read_safetensors(self.path("run/latest/optimizer.safetensors"))
        self.assertEqual(sorted(optimizer), ["embed.weight.momentum", "head.bias.momentum",
                                             "head.weight.momentum"])
        header = self.content("run/latest")["model.safetensors"]
        self.assertEqual((8 + int.from_bytes(header[:8], "little")) % 64, 0)

    def test_metrics_after_a_crash_are_cut_at_the_checkpoint(self):
        self.train(10, "--out", "run", "--metrics", "m.jsonl")
        lines = read_file(self.path("m.jsonl"))
        self.train(12, "--metrics", "m.jsonl", "--resume", "run")
        with open(self.path("m.jsonl"), "a") as file:
            file.write('{"step": 12, "lo')
        self.train(15, "--metrics", "m.jsonl", "--resume", "run")
        self.assertEqual([line["step"] for line in self.lines("m.jsonl")], list(range(15)))
        self.assertEqual(read_file(self.path("m.jsonl"))[:len(lines)], lines)

    def test_a_finished_run_has_nothing_to_do(self):
        self.train(5, "--out", "run")
        before = self.content("run/latest")
        err = self.train(5, "--out", "run", "--resume", "run")[1]
        self.assertIn("nothing to do", err)
        self.assertEqual(before, self.content("run/latest"))

    def test_resume_from_one_checkpoint(self):
        self.train(4, "--out", "run", "--save-every", 2)
        self.train(4, "--out", "again", "--resume", "run/step-000002")
        self.assertEqual(self.content("run/latest"), self.content("again/latest"))

    def test_damaged_checkpoints_are_skipped_with_a_note(self):
        self.train(6, "--out", "run", "--save-every", 3)
        whole = self.content("run/latest")
        path = self.path("run/step-000006/model.safetensors")
        data = bytearray(read_file(path))
        data[-1] ^= 1
        write_file(path, data)
        err = self.train(6, "--out", "run", "--resume", "run")[1]
        self.assertIn("skipping the damaged checkpoint 'run/step-000006'", err)
        self.assertEqual(whole, self.content("run/latest"))
        self.assertEqual(self.entries(), ["latest", "step-000003", "step-000006"])
        for step in (3, 6):
            os.remove(self.path("run/step-%06d/state.json" % step))
        self.fails(1, ["--resume 'run'", "no complete checkpoint"], "--data", "t.bin",
                   "--steps", 9, "--resume", "run")

    def test_foreign_checkpoints_are_refused(self):
        self.train(3, "--out", "run")
        more = ["--data", "t.bin", "--steps", 5]
        self.fails(2, ["already holds 'step-000003'", "--resume"], *more, "--out", "run")
        self.fails(2, ["--seed 8", "seed 7"], *more, "--resume", "run", "--seed", 8)
        self.write_tokens("other.bin", token_list(1000, seed=5))
        self.fails(2, ["other data than 'other.bin'"], "--data", "other.bin", "--steps", 5,
                   "--resume", "run")
        self.fails(1, ["no complete checkpoint"], *more, "--resume", "nowhere")
        self.train(4, "--out", "run", "--resume", "run")
        self.fails(2, ["already holds 'step-000004'"], *more, "--out", "run",
                   "--resume", "run/step-000003")

    def test_resume_needs_no_weights_file(self):
        self.train(3, "--out", "run")
        os.remove(self.path("tiny.weights"))
        self.train(5, "--out", "run", "--resume", "run")

    def test_leftovers_of_a_killed_save_are_removed(self):
        self.train(3, "--out", "run")
        os.mkdir(self.path("run/step-000004.tmp"))
        write_file(self.path("run/step-000004.tmp/model.safetensors"), b"")
        self.train(5, "--out", "run", "--resume", "run")
        self.assertEqual(self.entries(), ["latest", "step-000003", "step-000005"])

    def test_killed_at_any_time_leaves_a_complete_checkpoint(self):
        """kill -9 during saves; what is there always resumes to the same end."""
        self.train(60, "--out", "whole")
        more = ["--data", "t.bin", "--steps", 60, "--out", "run", "--save-every", 1]
        self.train(1, "--out", "run")
        for delay in (0.004, 0.006, 0.009, 0.013, 0.02):
            process = self.start(*more, "--resume", "run", env={"TINY_SLEEP_MS": "1"})
            time.sleep(delay)
            process.kill()
            process.communicate()
        self.run_tiny(*more, "--resume", "run")
        self.assertEqual(self.content("whole/latest"), self.content("run/latest"))


class Signals(RuntimeTest):
    def interrupt(self, number, *arguments, second=False):
        process = self.start("--data", "t.bin", "--steps", 100000, "--log-every", 1, *arguments,
                             env={"TINY_SLEEP_MS": "500" if second else "5"})
        while not process.stdout.readline().startswith("step"):
            pass
        # The line comes just before a step boundary: be inside of the next step.
        time.sleep(0.1 if second else 0)
        process.send_signal(number)
        if second:
            time.sleep(0.1)
            process.send_signal(number)
        _, err = process.communicate(timeout=30)
        return process.returncode, err

    def test_the_first_signal_saves(self):
        for number, name in ((signal.SIGTERM, "SIGTERM"), (signal.SIGINT, "SIGINT")):
            code, err = self.interrupt(number, "--out", name)
            self.assertEqual(code, 85, err)
            self.assertIn("stopped by " + name, err)
            self.assertIn("--resume '%s'" % name, err)
            state = json.loads(read_file(self.path(name + "/latest/state.json")))
            steps = state["step"]
            self.run_tiny("--data", "t.bin", "--steps", steps, "--out", name + "whole")
            for file in ("model.safetensors", "optimizer.safetensors"):
                self.assertEqual(read_file(self.path(name + "/latest/" + file)),
                                 read_file(self.path(name + "whole/latest/" + file)))

    def test_without_a_folder_nothing_is_saved(self):
        code, err = self.interrupt(signal.SIGTERM)
        self.assertEqual(code, 85)
        self.assertIn("nothing was saved", err)

    def test_the_second_signal_ends_at_once(self):
        code, err = self.interrupt(signal.SIGTERM, "--out", "run", second=True)
        self.assertEqual(code, 128 + signal.SIGTERM)
        self.assertNotIn("latest", os.listdir(self.path("run")))


class FullDisk(RuntimeTest):
    def check(self, folder, **more):
        """The next save fails with 74 and the earlier checkpoint resumes."""
        self.fails(74, ["cannot write", folder], "--data", "t.bin", "--steps", 9, "--out", folder,
                   "--resume", folder, **more)

    def test_file_size_limit(self):
        self.run_tiny("--data", "t.bin", "--steps", 3, "--out", "run")
        before = sorted(os.listdir(self.path("run")))
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))
        self.check("run", preexec_fn=limit)
        self.assertEqual(sorted(os.listdir(self.path("run"))), before)
        self.run_tiny("--data", "t.bin", "--steps", 9, "--out", "run", "--resume", "run")

    def test_small_file_system(self):
        disk = self.path("disk")
        os.mkdir(disk)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24k", "tmpfs", disk],
                          capture_output=True).returncode:
            self.skipTest("mounting needs root")
        try:
            self.run_tiny("--data", "t.bin", "--steps", 3, "--out", "disk/run")
            with open(disk + "/filler", "wb") as file:
                try:
                    file.write(bytes(1 << 20))
                    file.flush()
                except OSError:
                    pass
            before = sorted(os.listdir(disk + "/run"))
            self.check("disk/run")
            self.assertEqual(sorted(os.listdir(disk + "/run")), before)
            os.remove(disk + "/filler")
            self.run_tiny("--data", "t.bin", "--steps", 9, "--out", "disk/run",
                          "--resume", "disk/run")
        finally:
            subprocess.run(["umount", disk])

    def test_metrics_and_folders_that_cannot_be_written(self):
        more = ["--data", "t.bin", "--steps", 1]
        self.fails(74, ["cannot create 'no/m.jsonl'"], *more, "--metrics", "no/m.jsonl")
        self.fails(74, ["cannot create 'no/g.json"], *more, "--gradient-norms", "no/g.json")
        self.fails(74, ["t.bin"], *more, "--out", "t.bin/run")
        self.fails(74, ["cannot write '/dev/full'"], *more, "--metrics", "/dev/full")


if __name__ == "__main__":
    unittest.main()
