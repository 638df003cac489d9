#!/bin/sh
# The main job on real NumPy kernels, on a kernel of the examples and on one with a planted fault. Exits 0 if every
# verdict is the one expected. Two lanes run side by side: a check uses one core for its references.
#
# matmul, softmax and gather_rows are checked against every contract about them; the others against C-PRC-01, the
# contract that tells accumulators and operand casts apart, so that the whole stays below a minute on two cores.
set -u
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# expect STATUS TITLE ARGUMENTS... : run one check, and compare its exit status
expect() {
  want=$1 title=$2
  shift 2
  echo "== $title"
  kc check "$@" --format concise
  got=$?
  if [ "$got" -ne "$want" ]; then
    echo "WRONG VERDICT: exit status $got, expected $want, from: kc check $*"
    return 1
  fi
}

lane_a() {
  bad=0
  expect 0 "numpy:matmul f32, held-out shapes" numpy:matmul --contract C-CMP-03 || bad=1
  expect 0 "numpy:reduce_sum f32" numpy:reduce_sum --contract C-PRC-01 || bad=1
  expect 0 "numpy:softmax f32" numpy:softmax || bad=1
  expect 0 "numpy:gather_rows f32" numpy:gather_rows || bad=1
  return $bad
}

lane_b() {
  bad=0
  expect 0 "numpy:matmul f32, accumulator, subnormals, order" \
    numpy:matmul --contract C-PRC-01 --contract C-PRC-03 --contract C-ORD-01 || bad=1
  expect 0 "a blocked product of somebody's own" \
    examples/kernels.py:blocked_matmul --operator matmul --contract C-PRC-01 || bad=1
  expect 1 "and one that is wrong: its sums are float16 (allclose(rtol=2e-2, atol=1e-1) lets it pass)" \
    examples/kernels.py:half_accumulator --operator matmul --contract C-PRC-01 || bad=1
  return $bad
}

lane_a >"$work/a" 2>&1 &
a=$!
lane_b >"$work/b" 2>&1
status=$?
wait "$a" || status=1
cat "$work/b" "$work/a"
echo
if [ "$status" -eq 0 ]; then
  echo "every verdict is the one expected: the right kernels conform, the wrong one is convicted and its cause named"
else
  echo "at least one verdict is not the one expected; see above" >&2
fi
exit "$status"
