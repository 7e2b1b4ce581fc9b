# SPDX-License-Identifier: Apache-2.0
#
# What the runtime's process tests share: a temporary folder per test with weights, tokens and
# batches for the tiny programs, and a way to run them. Only Python's standard library is used.
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import unittest

CLASSES, SEQUENCE, MICRO = 16, 6, 4
BINARIES = sys.argv.pop() if len(sys.argv) > 1 and os.path.isdir(sys.argv[-1]) else "."


def read_file(path):
    with open(path, "rb") as file:
        return file.read()


def write_file(path, data):
    with open(path, "wb") as file:
        file.write(data)


def weights_bytes():
    """The weights file whose hashes tiny_program.c holds: blocks in f32, f64 and bf16."""
    f32 = [0.01 * i for i in range(16)]
    f64 = [0.02 * (8 - i) for i in range(16)]
    bf16 = [struct.unpack("<I", struct.pack("<f", 0.03 * (i % 5)))[0] >> 16 for i in range(16)]
    data = bytearray(288)
    data[64:128] = struct.pack("<16f", *f32)
    data[128:256] = struct.pack("<16d", *f64)
    data[256:288] = struct.pack("<16H", *bf16)
    return bytes(data)


def token_list(count, seed=1):
    """Tokens with structure: the next is the last plus one, with noise, so that loss falls."""
    source, tokens = random.Random(seed), [0]
    while len(tokens) < count:
        step = 1 if source.random() < 0.9 else source.randrange(CLASSES)
        tokens.append((tokens[-1] + step) % CLASSES)
    return tokens


def write_safetensors(path, tensors):
    """tensors: {name: (dtype, shape, values)}"""
    codes = {"I64": "q", "I32": "i", "F32": "f", "F64": "d", "BF16": "H", "F16": "e"}
    header, data = {}, b""
    for name, (dtype, shape, values) in tensors.items():
        block = struct.pack("<%d%s" % (len(values), codes[dtype]), *values)
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [len(data), len(data) + len(block)]}
        data += block
    text = json.dumps(header).encode()
    write_file(path, struct.pack("<Q", len(text)) + text + data)


def read_safetensors(path):
    data = read_file(path)
    length = struct.unpack("<Q", data[:8])[0]
    header, base = json.loads(data[8:8 + length]), 8 + length
    return {name: (entry["dtype"], entry["shape"],
                   data[base + entry["data_offsets"][0]:base + entry["data_offsets"][1]])
            for name, entry in header.items() if name != "__metadata__"}


def batch_tensors(steps, rows, dtype="I64", seed=3):
    source, tensors = random.Random(seed), {}
    for step in range(steps):
        ids = [source.randrange(CLASSES) for _ in range(rows * SEQUENCE)]
        labels = [(i + 1) % CLASSES if source.random() < 0.8 else -100 for i in ids]
        tensors["%d.input_ids" % step] = (dtype, [rows, SEQUENCE], ids)
        tensors["%d.labels" % step] = (dtype, [rows, SEQUENCE], labels)
    return tensors


def heed_interrupts():
    """A job in the background of a script inherits SIGINT ignored, and so would the program under test."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class RuntimeTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="echelon-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        write_file(self.path("tiny.weights"), weights_bytes())
        self.write_tokens("t.bin", token_list(1000))

    def path(self, name):
        return os.path.join(self.folder, name)

    def write_tokens(self, name, tokens, code="H"):
        write_file(self.path(name), struct.pack("<%d%s" % (len(tokens), code), *tokens))

    def install(self, binary):
        """The binary, copied beside its weights file as the compiler places it."""
        target = self.path(binary)
        if not os.path.exists(target):
            shutil.copy(os.path.join(BINARIES, "test_runtime_" + binary), target)
        return target

    def environment(self, extra):
        values = {key: value for key, value in os.environ.items()
                  if not key.startswith(("ECHELON_", "TINY_"))}
        values["XDG_CACHE_HOME"] = self.path("cache")
        # ThreadSanitizer keeps the other threads running for a second after _exit.
        values["TSAN_OPTIONS"] = "atexit_sleep_ms=0"
        values.update(extra)
        return values

    def start(self, *arguments, binary="tiny", env={}, **more):
        return subprocess.Popen([self.install(binary), *map(str, arguments)], cwd=self.folder,
                                env=self.environment(env), stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True,
                                **{"preexec_fn": heed_interrupts, **more})

    def run_tiny(self, *arguments, code=0, **more):
        """Runs to the end, checks the exit code, returns (stdout, stderr)."""
        process = self.start(*arguments, **more)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, code, out + err)
        return out, err

    def fails(self, code, texts, *arguments, **more):
        """The run ends with `code` and one error line that has all `texts`."""
        err = self.run_tiny(*arguments, code=code, **more)[1]
        errors = [line for line in err.splitlines() if line.startswith("error: ")]
        self.assertEqual(len(errors), 1, err)
        for text in texts:
            self.assertIn(text, errors[0])
        self.assertFalse(errors[0].endswith("."))
        return err

    def lines(self, name):
        with open(self.path(name)) as file:
            return [json.loads(line) for line in file]

    def losses(self, name):
        return [line["loss"] for line in self.lines(name)]
