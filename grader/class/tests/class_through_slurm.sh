#!/usr/bin/env bash
# Grades a made-up class twice, on this machine and through a Slurm of one node that this script
# starts on loopback, and compares. A node is killed in the middle; its submissions run again.
#
#     grader/class/tests/class_through_slurm.sh BUILD [COUNT]
#
# Says "skipped: …" where Slurm or munge is missing, or this is not root. Ends only the daemons that
# it started, by the numbers in their files.
set -euo pipefail

build=${1:?the build folder}
count=${2:-12}
for program in slurmctld slurmd sbatch munged; do
  if ! command -v "$program" >/dev/null; then
    echo "skipped: there is no $program (Debian's slurm-wlm and munge)"
    exit 0
  fi
done
if ((EUID != 0)); then
  echo "skipped: slurmd runs as root"
  exit 0
fi

base=$(mktemp -d)
mkdir -p "$base"/{state,spool,log,munge}
export SLURM_CONF=$base/slurm.conf
port=$((20000 + $$ % 20000))

pids=()
finish() {
  local file
  for file in "$base"/d.pid "$base"/ctld.pid "$base"/munge/pid; do
    if [[ -s $file ]]; then kill "$(cat "$file")" 2>/dev/null || true; fi
  done
  ((${#pids[@]} == 0)) || kill "${pids[@]}" 2>/dev/null || true
  sleep 1
  rm -rf "$base"
}
trap finish EXIT

cat >"$SLURM_CONF" <<TEXT
ClusterName=class
SlurmctldHost=localhost
AuthType=auth/munge
AuthInfo=socket=$base/munge/socket
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$base/state
SlurmdSpoolDir=$base/spool
SlurmctldPidFile=$base/ctld.pid
SlurmdPidFile=$base/d.pid
SlurmctldLogFile=$base/log/ctld.log
SlurmdLogFile=$base/log/d.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
SlurmctldPort=$port
SlurmdPort=$((port + 1))
SlurmctldTimeout=30
SlurmdTimeout=15
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
NodeName=localhost CPUs=$(nproc) RealMemory=4000 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
TEXT

start_node() {
  rm -f "$base/d.pid"
  slurmd -N localhost
  local i
  for ((i = 0; i < 60; ++i)); do
    if [[ $(sinfo --noheader --format=%T 2>/dev/null) =~ ^(idle|mixed|allocated)$ ]]; then return; fi
    sleep 1
  done
  echo "the node did not come up:" >&2
  tail -5 "$base"/log/*.log >&2
  exit 1
}

dd if=/dev/urandom of="$base/munge/key" bs=128 count=1 status=none
chmod 600 "$base/munge/key"
chmod 755 "$base" "$base/munge"
munged --force --key-file="$base/munge/key" --socket="$base/munge/socket" \
  --pid-file="$base/munge/pid" --log-file="$base/munge/log" --seed-file="$base/munge/seed"
slurmctld
start_node

"$build/tests/made-up-class" "$base/submissions" "$count" >"$base/expected"
common=("$build/bin/grader" class grade "$base/submissions" --batches 3 --no-speed --limit 300)
export CONVLAB_SUBMISSION_OPTIMISE=-O1

# Through Slurm first: what was compiled once is not compiled again, and nothing would run long enough.
seconds=$SECONDS
killed="no node was killed"
"${common[@]}" --database "$base/slurm.db" --launcher slurm --gres '' --memory 1500 \
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
  mapfile -t steps < <(scontrol listpids 2>/dev/null | awk '$1 ~ /^[0-9]+$/ { print $1 }')
  kill -9 "$(cat "$base/d.pid")" "$grading"
  # What a node runs dies with it.
  ((${#steps[@]} == 0)) || kill -9 "${steps[@]}" 2>/dev/null || true
  wait "$grading" 2>/dev/null || true
  pids=()
  start_node
fi
"${common[@]}" --database "$base/slurm.db" --launcher slurm --gres '' --memory 1500 --chunk 2 \
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
