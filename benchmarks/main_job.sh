#!/bin/sh
# The main job on real NumPy kernels and on one planted bad kernel. Exits 0 if every verdict is the right one.
set -u
cd "$(dirname "$0")/.."

expect() {
  want=$1
  shift
  kc check "$@" --format concise
  got=$?
  if [ "$got" -ne "$want" ]; then
    echo "expected exit status $want from: kc check $*  (got $got)" >&2
    exit 1
  fi
}

expect 0 numpy:matmul
expect 0 numpy:matmul --types f16
expect 0 numpy:reduce_sum
expect 0 numpy:softmax
expect 0 numpy:gather_rows
expect 0 examples/kernels.py:blocked_matmul --operator matmul
echo
echo "and one kernel that is wrong (it passes allclose(1e-2) on ordinary data):"
kc check examples/kernels.py:half_accumulator --operator matmul --contract C-PRC-01
[ $? -eq 1 ] || { echo "the planted bad kernel was not convicted" >&2; exit 1; }
