#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs what is missing, builds everything and runs all tests, the slow set too. The last line is
# `N passed, N failed`; the exit code is 0 only when nothing failed and something passed.
#   tools/test.sh [PRESET] [lit flags...]      default preset: release
set -uo pipefail
cd "$(dirname "$0")/.." || exit

preset=${1:-release}
[ $# -eq 0 ] || shift

give_up() {
  echo "error: $1" >&2
  echo "0 passed, 1 failed"
  exit 1
}

tools/setup.sh || give_up "setup failed"
configured=$(cmake --preset "$preset" 2>&1) || {
  echo "$configured" >&2
  give_up "configuring the preset '$preset' failed"
}
cmake --build --preset "$preset" || give_up "the build failed"

results=build/$preset/test/results.json
rm -f "$results"
lit=$(llvm-config-19 --prefix)/build/utils/lit/lit.py
python3 "$lit" -sv -Dslow=1 --output "$results" "$@" "build/$preset/test"
code=$?
python3 tools/count_tests.py "$results" "$code"
