#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs what Echelon needs to build and test from Debian 12's own packages; does nothing, and needs no
# rights, when all of it is there.
set -euo pipefail

packages=(
  g++ cmake ninja-build python3
  clang-19 lld-19 libclang-rt-19-dev
  llvm-19-dev llvm-19-tools libmlir-19-dev mlir-19-tools
  libprotobuf-dev protobuf-compiler libonnx-dev
  nlohmann-json3-dev libgtest-dev
)

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null || true)
  [ "$status" = "install ok installed" ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || {
    echo "error: missing packages, and neither root nor sudo to install them: ${missing[*]}" >&2
    exit 1
  }
  as_root=(sudo)
fi
echo "installing ${#missing[@]} packages: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
run() {
  # Quiet unless it fails.
  "${as_root[@]}" "$@" >"$log" 2>&1 || {
    cat "$log" >&2
    echo "error: '$*' failed" >&2
    exit 1
  }
}
apt=(apt-get -q -y -o DPkg::Lock::Timeout=300)
run "${apt[@]}" update
run "${apt[@]}" install --no-install-recommends "${missing[@]}"
