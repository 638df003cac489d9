#!/bin/sh
# The main job on PyTorch's CPU kernels: they conform under their claim sheet; bf16 products break a claim of
# preserved subnormals above a size.
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

for operator in matmul reduce_sum softmax gather_rows; do
  for types in f32 bf16 f16; do
    expect 0 "torch:$operator" --types "$types"
  done
done
echo
echo "a true finding: bf16 products flush subnormals above a size"
expect 1 torch:matmul --types bf16 --contract C-PRC-03 --claim daz_in=preserve --claim ftz_out=preserve
