# SPDX-License-Identifier: Apache-2.0
"""Reads lit's result file and its exit code, prints `N passed, N failed` as the last line and exits
with 1 unless some test passed and none failed. What was not run is named, not counted as passed."""

import json
import sys

PASSED = {"PASS", "FLAKYPASS"}
NOT_RUN = {"UNSUPPORTED", "SKIPPED", "EXCLUDED"}


def count(results):
    """(passed, names of failed, names of not run). An expected failure is a failure: a test that
    is known not to hold does not hold."""
    passed, failed, not_run = 0, [], []
    for test in results["tests"]:
        if test["code"] in PASSED:
            passed += 1
        elif test["code"] in NOT_RUN:
            not_run.append(test["name"])
        else:
            failed.append(test["name"])
    return passed, failed, not_run


def main():
    path, lit_code = sys.argv[1], int(sys.argv[2])
    try:
        with open(path, encoding="utf-8") as file:
            passed, failed, not_run = count(json.load(file))
    except (OSError, ValueError, KeyError) as error:
        print("error: no test results: %s" % error)
        passed, failed, not_run = 0, ["lit"], []
    if lit_code != 0 and not failed:
        failed.append("lit itself, exit code %d" % lit_code)
    if passed == 0 and not failed:
        failed.append("no test was found")
    for name in failed:
        print("failed: " + name)
    for name in not_run:
        print("not run: " + name)
    print("%d passed, %d failed" % (passed, len(failed)))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
