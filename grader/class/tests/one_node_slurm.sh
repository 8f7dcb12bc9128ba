# A Slurm of one node on loopback, for the scripts beside this file, which source it. Afterwards
# `base` is a folder of the test, removed at the end, and sbatch, squeue and sinfo answer.
# start_node and kill_node play accidents. Ends only the daemons that it started, by the
# numbers in their files, and what a script adds to `pids`.
#
# Says "skipped: …" and ends the script where Slurm or munge is missing, or this is not root.
# shellcheck shell=bash

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

# What a node runs dies with it.
kill_node() {
  local steps
  mapfile -t steps < <(scontrol listpids 2>/dev/null | awk '$1 ~ /^[0-9]+$/ { print $1 }')
  kill -9 "$(cat "$base/d.pid")"
  ((${#steps[@]} == 0)) || kill -9 "${steps[@]}" 2>/dev/null || true
}

start_node() {
  rm -f "$base/d.pid"
  slurmd -N localhost
  local i
  for ((i = 0; i < 60; ++i)); do
    if [[ $(sinfo --noheader --format=%T 2>/dev/null) =~ ^(idle|mixed|allocated)$ ]]; then return; fi
    sleep 1
  done
  echo "the node did not come up:" >&2
  tail -n 5 "$base"/log/*.log >&2
  exit 1
}

dd if=/dev/urandom of="$base/munge/key" bs=128 count=1 status=none
chmod 600 "$base/munge/key"
chmod 755 "$base" "$base/munge"
munged --force --key-file="$base/munge/key" --socket="$base/munge/socket" \
  --pid-file="$base/munge/pid" --log-file="$base/munge/log" --seed-file="$base/munge/seed"
slurmctld
start_node
