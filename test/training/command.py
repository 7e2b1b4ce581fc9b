# SPDX-License-Identifier: Apache-2.0
#
# What the tests of the command line share: a temporary folder per test, small models from `echelon zoo`, token files,
# training specs, and a way to run `echelon` and what it compiled. Only Python's standard library is used.
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

GOLDEN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "golden")
# One layer of 16 is enough to have every kind of op, and compiles in well under a second.
TINY = {"gpt": ["--layers", "1", "--hidden", "16", "--heads", "2", "--vocab", "32", "--seq", "8"],
        "llama": ["--layers", "1", "--hidden", "16", "--heads", "4", "--kv-heads", "2", "--ffn", "32",
                  "--vocab", "32", "--seq", "8"]}
SCHEDULED = {"optimizer": {"kind": "adamw", "lr": 0.01, "weight_decay": 0.1, "grad_clip_norm": 0.5,
                           "no_decay": ["@1d"],
                           "schedule": {"kind": "cosine", "warmup_steps": 3, "total_steps": 12, "min_lr": 0.001}},
             "batch": {"micro": 4}}
PHASES = ["import", "training", "planning", "distribution", "fusion", "lowering"]


def read_file(path):
    with open(path, "rb") as file:
        return file.read()


def write_file(path, data):
    with open(path, "wb") as file:
        file.write(data)


def token_list(count, vocabulary=32, seed=1):
    """Tokens with structure: the next is the last plus one, with noise, so that the loss can fall."""
    source, tokens = random.Random(seed), [0]
    while len(tokens) < count:
        step = 1 if source.random() < 0.9 else source.randrange(vocabulary)
        tokens.append((tokens[-1] + step) % vocabulary)
    return tokens


def write_safetensors(path, tensors):
    """tensors: {name: (dtype, shape, values)}"""
    codes = {"I64": "q", "I32": "i", "F32": "f"}
    header, data = {}, b""
    for name, (dtype, shape, values) in tensors.items():
        block = struct.pack("<%d%s" % (len(values), codes[dtype]), *values)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(block)]}
        data += block
    text = json.dumps(header).encode()
    write_file(path, struct.pack("<Q", len(text)) + text + data)


def read_safetensors(path):
    """{name: (dtype, shape, bytes)}"""
    data = read_file(path)
    length = struct.unpack("<Q", data[:8])[0]
    header, base = json.loads(data[8:8 + length]), 8 + length
    return {name: (entry["dtype"], entry["shape"],
                   data[base + entry["data_offsets"][0]:base + entry["data_offsets"][1]])
            for name, entry in header.items() if name != "__metadata__"}


def batch_tensors(steps, rows, sequence=8, vocabulary=32, seed=3):
    source, tensors = random.Random(seed), {}
    for step in range(steps):
        ids = [source.randrange(vocabulary) for _ in range(rows * sequence)]
        labels = [(i + 1) % vocabulary if source.random() < 0.8 else -100 for i in ids]
        tensors["%d.input_ids" % step] = ("I64", [rows, sequence], ids)
        tensors["%d.labels" % step] = ("I64", [rows, sequence], labels)
    return tensors


class CommandTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="echelon-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def environment(self, extra=()):
        values = {key: value for key, value in os.environ.items() if not key.startswith("ECHELON_")}
        values["XDG_CACHE_HOME"] = self.path("cache")
        values.update(extra)
        return values

    def start(self, *arguments, cwd=None, env=(), **more):
        return subprocess.Popen([str(word) for word in arguments], cwd=cwd or self.folder, env=self.environment(env),
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)

    def run_words(self, *arguments, code=0, **more):
        """Runs to the end, checks the exit code, returns (stdout, stderr)."""
        process = self.start(*arguments, **more)
        out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, code, "%s\n%s%s" % (" ".join(map(str, arguments)), out, err))
        return out, err

    def echelon(self, *arguments, **more):
        return self.run_words("echelon", *arguments, **more)

    def fails(self, code, texts, *arguments, **more):
        """Ends with `code` and one block of error lines on stderr, which has all `texts`; returns stderr."""
        err = self.run_words(*arguments, code=code, **more)[1]
        lines = err.splitlines()
        errors = [i for i, line in enumerate(lines) if line.startswith("error: ")]
        self.assertTrue(errors, err)
        between = [line for line in lines[errors[0]:errors[-1] + 1] if not line.startswith(("error: ", " ", "note: "))]
        self.assertFalse(between, "more than one block:\n" + err)
        for text in texts:
            self.assertIn(text, err)
        self.assertFalse(lines[errors[-1]].endswith("."), err)
        return err

    def zoo(self, name="m.onnx", family="gpt", *more):
        self.echelon("zoo", family, *TINY[family], *more, "-o", name)
        return name

    def spec(self, content, name="train.json"):
        write_file(self.path(name), json.dumps(content).encode())
        return name

    def tokens(self, name="t.bin", count=2000, vocabulary=32, seed=1):
        values = token_list(count, vocabulary, seed)
        write_file(self.path(name), struct.pack("<%dH" % count, *values))
        return name

    def compile(self, model="m.onnx", output="m.train", *more, **options):
        self.echelon("compile", model, *more, "-o", output, **options)
        return output

    def lines(self, name):
        with open(self.path(name)) as file:
            return [json.loads(line) for line in file]

    def losses(self, name):
        return [line["loss"] for line in self.lines(name)]


def main():
    unittest.main(argv=sys.argv[:1], verbosity=2)
