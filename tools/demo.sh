#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The main job from a clean clone: installs what is missing, builds, and trains a small GPT on English text
# that every Debian machine with Echelon's packages carries. Prints how long each part took, and fails when
# the mean loss of the last 50 steps is not under 2.0 (bytes; a model that knows nothing has ln 256 = 5.5).
set -euo pipefail
cd "$(dirname "$0")/.."

steps=1000 # docs/examples/demo/train.json: schedule.total_steps
out=build/demo
echelon=build/release/bin/echelon

started=$SECONDS
lap() {
  printf '== %s: %d s\n' "$1" $((SECONDS - started))
  started=$SECONDS
}

tools/setup.sh
lap "installed what was missing"
configured=$(cmake --preset release 2>&1) || {
  echo "$configured" >&2
  exit 1
}
cmake --build --preset release --target echelon
lap "built"

rm -rf "$out"
mkdir -p "$out"

# Licence texts (base-files) and CMake's manual (cmake-data): 2.7 MB on Debian 12. The files are mixed in a
# fixed order, so that the held-out end is text of every kind; a folder that lacks is left out.
mapfile -d '' -t texts < <(
  for folder in /usr/share/common-licenses /usr/share/cmake-3.25/Help; do
    [ -d "$folder" ] || continue
    find "$folder" -type f -size +0 \( -name '*.rst' -o -path '*/common-licenses/*' \) -print0
  done | LC_ALL=C sort -z | shuf -z --random-source=<(yes echelon)
)
[ ${#texts[@]} -gt 0 ] || {
  echo "error: found no text under /usr/share to train on" >&2
  exit 1
}
"$echelon" data tokenize --bytes "${texts[@]}" -o "$out/train.bin" --holdout 0.05 --holdout-out "$out/heldout.bin"
"$echelon" zoo gpt --layers 4 --hidden 128 --heads 4 --vocab 256 --seq 128 -o "$out/gpt.onnx"
"$echelon" doctor || true # the table is for the reader; what is missing, the next step names too
lap "made the data and the model"

"$echelon" train "$out/gpt.onnx" --train docs/examples/demo/train.json \
  --data "$out/train.bin" --eval-data "$out/heldout.bin" --eval-every 250 \
  --steps "$steps" --threads "$(nproc)" --metrics "$out/metrics.jsonl" --out "$out/checkpoint" \
  --sample 240 --prompt "The "
lap "trained $steps steps"

python3 - "$out/metrics.jsonl" <<'EOF'
import json, sys

losses = [json.loads(line)["loss"] for line in open(sys.argv[1], encoding="utf-8")]
losses = [loss if loss is not None else float("nan") for loss in losses]
mean = sum(losses[-50:]) / 50
print("mean loss of the last 50 steps: %.4f (first step: %.4f)" % (mean, losses[0]))
if not mean < 2.0:
    sys.exit("error: the mean loss of the last 50 steps is not under 2.0")
EOF
echo "weights, metrics and the training binary's files are in $out"
