#!/usr/bin/env bash
# Grades a made-up class twice, on this machine and through a Slurm of one node that this script
# starts on loopback, and compares. A node is killed in the middle; its submissions run again.
#
#     grader/class/tests/class_through_slurm.sh BUILD [COUNT]
#
# Says "skipped: …" where Slurm or munge is missing, or this is not root.
set -euo pipefail

build=${1:?the build folder}
count=${2:-12}
# shellcheck source=grader/class/tests/one_node_slurm.sh
source "$(dirname "${BASH_SOURCE[0]}")/one_node_slurm.sh"

"$build/tests/made-up-class" "$base/submissions" "$count" >"$base/expected"
common=("$build/bin/grader" class grade "$base/submissions" --batches 3 --no-speed --limit 300)
export CONVLAB_SUBMISSION_OPTIMISE=-O1

# Through Slurm first: what was compiled once is not compiled again, and nothing would run long enough.
seconds=$SECONDS
killed="no node was killed"
"${common[@]}" --database "$base/slurm.db" --launcher slurm --gres '' --sbatch=--mem=1500 \
  >"$base/slurm.txt" 2>&1 &
grading=$!
pids+=("$grading")
# Once something is graded, the node dies with its jobs, and so does the one who waits for them.
until grep -q passed "$base/slurm.txt"; do
  kill -0 "$grading" 2>/dev/null || break
  sleep 0.2
done
if kill -0 "$grading" 2>/dev/null; then
  killed="a node and the grader that waits were killed"
  kill_node
  kill -9 "$grading"
  wait "$grading" 2>/dev/null || true
  pids=()
  start_node
fi
"${common[@]}" --database "$base/slurm.db" --launcher slurm --gres '' --sbatch=--mem=1500 --chunk 2 \
  >>"$base/slurm.txt"
if ! grep -q 'Allocate JobId' "$base/log/ctld.log"; then
  echo "Slurm ran no job, so nothing was compared" >&2
  exit 1
fi
echo "through Slurm ($killed): $((SECONDS - seconds)) s"

seconds=$SECONDS
"${common[@]}" --database "$base/local.db" >"$base/local.txt"
echo "on this machine: $((SECONDS - seconds)) s for $count submissions"

# Everything but when and how long.
list() {
  "$build/bin/grader" class export --format csv --database "$1" | cut -d, -f1-3,5-
}
# A difference is told, and the rest is looked at, too: on a loaded machine a time may be doubted.
wrong=0
list "$base/local.db" >"$base/local.csv"
list "$base/slurm.db" >"$base/slurm.csv"
if diff "$base/local.csv" "$base/slurm.csv" >"$base/difference"; then
  echo "equal results on this machine and through Slurm"
else
  echo "$(grep -c '^<' "$base/difference") of $count results differ (<: this machine, >: Slurm):"
  cat "$base/difference"
  wrong=1
fi
for where in local slurm; do
  "$build/bin/grader" class status --list --database "$base/$where.db" >"$base/list"
  while read -r student becomes; do
    if ! grep "^$student " "$base/list" | grep -- "$becomes" >/dev/null; then
      echo "$where: $student must be $becomes, and is:$(grep "^$student " "$base/list")"
      wrong=1
    fi
  done <"$base/expected"
done
((wrong)) || echo "each of $count submissions became what it must"

# What Slurm itself takes: an array of jobs that do nothing.
seconds=$(date +%s.%N)
sbatch --wait --parsable --array=1-40 --mem=10 --output=/dev/null --wrap=true >/dev/null
awk -v begin="$seconds" -v end="$(date +%s.%N)" -v cores="$(nproc)" 'BEGIN {
  printf "40 empty jobs on %d cores: %.1f s, so %.2f s of a core for each\n", cores, end - begin,
    (end - begin) * cores / 40 }'
((wrong == 0))
