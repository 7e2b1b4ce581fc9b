# SPDX-License-Identifier: Apache-2.0
"""Random entries through assign-buffers: lifetimes are computed again from the printed IR and every promise is checked.

Promised: each buffer that a launch touches has a place, aligned to 64 bytes, inside the arena; two buffers that are
alive at one launch are disjoint; the peak is the end of the last buffer; the lower bound is the most bytes alive at one
launch.
"""

import random
import re
import subprocess
import sys

ALIGNMENT = 64
ENTRIES = 60


def entry(index, rng):
    """One entry: buffers of random sizes and launches that touch a sliding choice of them."""
    buffers, launches = rng.randint(1, 40), rng.randint(1, 60)
    lines = ["exec.entry @entry_%d {" % index]
    lines += ["  %%b%d = exec.alloc %d" % (b, rng.choice([0, 1, 63, 64, 65, 1000, rng.randint(1, 5000)])) for b in range(buffers)]
    for launch in range(launches):
        centre = launch * buffers // launches
        near = [b for b in range(buffers) if abs(b - centre) <= rng.randint(1, 6)]
        used = rng.sample(near, min(len(near), rng.randint(1, 5)))
        count = len(used)
        lines.append(
            "  exec.launch @k(%s) args %s offsets %s writes [%s] descriptor []"
            % (", ".join("%%b%d" % b for b in used), list(range(count)), [0] * count, ", ".join(["true"] * count))
        )
    return "\n".join(lines + ["}"])


def parse(text):
    """(buffers, launches) of each entry: name -> (bytes, offset or None), and the names each launch touches."""
    for body in re.findall(r"exec\.entry @\w+ \{(.*?)\n  \}", text, re.DOTALL):
        buffers = {
            name: (int(size), int(at) if at else None)
            for name, size, at in re.findall(r"(%\w+) = exec\.alloc (-?\d+)(?: at (\d+))?", body)
        }
        yield buffers, [re.findall(r"%\w+", operands) for operands in re.findall(r"exec\.launch @k\((.*?)\)", body)]


def check(buffers, launches):
    """(peak, lower bound) of one entry."""
    alive = {}
    for time, names in enumerate(launches):
        for name in names:
            first, _ = alive.get(name, (time, time))
            alive[name] = (first, time)

    def span(name):
        size, offset = buffers[name]
        return offset, offset + -(-max(size, 1) // ALIGNMENT) * ALIGNMENT

    for name in alive:
        assert buffers[name][1] is not None, "%s has no place" % name
        assert buffers[name][1] % ALIGNMENT == 0, "%s is not aligned" % name
    names = sorted(alive)
    for i, a in enumerate(names):
        for b in names[:i]:
            together = alive[a][0] <= alive[b][1] and alive[b][0] <= alive[a][1]
            apart = span(a)[1] <= span(b)[0] or span(b)[1] <= span(a)[0]
            assert apart or not together, "%s %s and %s %s overlap while both live" % (a, span(a), b, span(b))
    bytes_at = [
        sum(span(n)[1] - span(n)[0] for n in names if alive[n][0] <= time <= alive[n][1]) for time in range(len(launches))
    ]
    return max(span(n)[1] for n in names), max(bytes_at)


def main():
    rng = random.Random(7)
    program = "\n".join(entry(index, rng) for index in range(ENTRIES))
    text = subprocess.run([sys.argv[1], "--assign-buffers"], input=program, capture_output=True, text=True, check=True).stdout
    results = [check(*one) for one in parse(text)]
    assert len(results) == ENTRIES, "parsed %d entries of %d" % (len(results), ENTRIES)
    peak, bound = (max(column) for column in zip(*results))
    printed = re.search(r"exec\.packing = \{lower_bound = (\d+) : i64, peak = (\d+) : i64\}", text)
    assert printed, "no exec.packing"
    assert (int(printed.group(1)), int(printed.group(2))) == (bound, peak), "printed %s, computed %d and %d" % (printed.group(0), bound, peak)
    arenas = re.search(r"exec\.arenas = array<i64: ([\d, ]+)>", text).group(1).split(", ")
    assert int(arenas[5]) == peak, "the arena has %s bytes, the peak is %d" % (arenas[5], peak)
    shared = sum(bool(one[0]) for one in parse(text))
    print("%d entries: disjoint, peak %d, lower bound %d" % (shared, peak, bound))


if __name__ == "__main__":
    main()
