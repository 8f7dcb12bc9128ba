#!/usr/bin/env bash
# A student's jobs through a Slurm of one node: check, profile, sweep and a milestone's own program
# with --launcher slurm, waiting behind another job, left by Ctrl-C, found again; the grader that
# waits is killed, and so is the node.
#
#     grader/cli/tests/job_through_slurm.sh BUILD
#
# Says "skipped: …" where Slurm or munge is missing, or this is not root. Takes a minute and a half on 2 cores.
set -euo pipefail

build=$(realpath "${1:?the build folder}")
tree=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../../..")
# shellcheck source=grader/class/tests/one_node_slurm.sh
source "$tree/grader/class/tests/one_node_slurm.sh"

export SBATCH_GRES=none CONVLAB_SUBMISSION_OPTIMISE=-O1
solution=$tree/reference/solutions/m1_cpu_baseline/conv_forward.cpp
wrong=0

# run CODE WORDS COMMAND…: its exit code, and words that it must print.
run() {
  local code=0 wanted=$1 words=$2
  shift 2
  "$@" >"$base/output" 2>"$base/errors" </dev/null || code=$?
  if ((code == wanted)) && grep --quiet -- "$words" "$base/output" "$base/errors"; then
    echo "fine: ${*/#$build\//}"
    return
  fi
  echo "'$*' ended with $code instead of $wanted, or does not say '$words':"
  tail -n 8 "$base/output" "$base/errors"
  wrong=1
}
# begin COMMAND…: in the background, until it says WORDS (in the variable of this name).
begin() {
  touch "$base/output" "$base/errors" # said looks into them at once
  "$@" >"$base/output" 2>"$base/errors" </dev/null &
  waiting=$!
  pids=("$waiting")
  said "$@"
}
said() {
  local i
  for ((i = 0; i < 300; ++i)); do
    ! grep --quiet -- "$words" "$base/output" "$base/errors" || return 0
    sleep 0.1
  done
  echo "'$*' never says '$words':"
  cat "$base/errors"
  wrong=1
}
ended() {
  local code=0
  wait "$waiting" 2>/dev/null || code=$?
  pids=()
  return "$code"
}

check=("$build/bin/grader" check m1 --solution "$solution" --batches 3 --no-speed --launcher slurm
  --json "$base/result.json")
blocker=$(sbatch --parsable --exclusive --output=/dev/null --wrap='sleep 600')
words="waiting for job" begin "${check[@]}"
kill -INT "$waiting"
ended || true
grep --quiet "goes on; the same command finds it again" "$base/errors" || {
  echo "Ctrl-C does not say that the job goes on:"
  cat "$base/errors"
  wrong=1
}
words="already" begin "${check[@]}"
kill -9 "$waiting"
ended || true
scancel "$blocker"
run 0 "is job [0-9]* already" "${check[@]}"
grep --quiet '"verdict": "passed"' "$base/result.json" || {
  echo "the result did not come back"
  wrong=1
}

# Not before the node runs it: one that comes back at once would begin it again.
words="begun" begin "$build/bin/grader" job sh -c 'echo begun; sleep 600'
kill_node
start_node
code=0
ended || code=$?
if ((code != 3)) || ! grep --quiet "without a result" "$base/errors"; then
  echo "a lost node: exit code $code"
  cat "$base/errors"
  wrong=1
else
  echo "fine: a node that died ($(grep -o 'the same command submits it again' "$base/errors"))"
fi

words="again" begin "$build/bin/grader" job sh -c 'echo again; sleep 20; echo finished'
kill "$(cat "$base/ctld.pid")"
words="does not answer" said
sleep 15
slurmctld
if ended && grep --quiet finished "$base/output"; then
  echo "fine: a controller that was away for a while lost no job"
else
  echo "a controller that was away:"
  cat "$base/output" "$base/errors"
  wrong=1
fi

run 0 "Accuracy\|accuracy" "$build/bin/m1" 10 --solution "$solution" --launcher slurm
run 0 "loads-per-product" "$build/bin/grader" profile m2 --json --launcher slurm \
  --solution "$tree/reference/solutions/m2_gpu_baseline/conv_forward.cu"
run 0 "Best: " "$build/bin/grader" sweep sweep-tuned --device emulated --solution reference \
  --launcher slurm
((wrong == 0)) && echo "all jobs came back"
((wrong == 0))
