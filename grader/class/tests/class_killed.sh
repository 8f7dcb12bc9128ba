#!/usr/bin/env bash
# Grades a made-up class with the grader that checks, kills it at random moments until it was killed
# KILLS times, with SIGKILL and Ctrl-C's SIGINT, and compares with the same class graded
# without a kill. A class that is done sooner is graded again in a new database.
#
#     grader/class/tests/class_killed.sh BUILD [COUNT] [KILLS] [SEED]
#
# 20 submissions and 50 kills take about 8 minutes.
set -euo pipefail

build=${1:?the build folder}
count=${2:-20}
kills=${3:-50}
RANDOM=${4:-17}

base=$(mktemp -d)
trap 'rm -rf "$base"' EXIT
fail() {
  echo "$1:" >&2
  tail -5 "$base/$database.txt" >&2
  exit 1
}
"$build/tests/made-up-class" "$base/submissions" "$count" >"$base/expected"
export CONVLAB_SUBMISSION_OPTIMISE=-O1

grade() {
  "$@" "$build/bin/grader" class grade "$base/submissions" --batches 3 --no-speed --limit 300 \
    --database "$base/$database.db" >>"$base/$database.txt" 2>&1
}

# Everything but how long it took. What was refused has its number before what is graded.
list() {
  "$build/bin/grader" class export --format csv --database "$base/$1.db" | sort
}

database=whole
grade env || fail "the class without a kill ended with $?"
list whole >"$base/whole.csv"

killed=0
rounds=0
declare -A of=([KILL]=0 [INT]=0)
while ((killed < kills)); do
  rounds=$((rounds + 1))
  database=killed$rounds
  status=137
  # timeout gives 124, or 137 where it sent SIGKILL.
  while ((killed < kills && (status == 124 || status == 137))); do
    signal=KILL
    ((killed / 4 % 2 == 0)) || signal=INT
    # Half of the kills come while the grader reads and begins, the others while it grades.
    longest=(600 600 6000 40000)
    delay=$((RANDOM % longest[RANDOM % 4] + 1))
    status=0
    grade timeout --foreground --signal=$signal "$(printf '%d.%03d' $((delay / 1000)) $((delay % 1000)))" ||
      status=$?
    if ((status == 124 || status == 137)); then
      killed=$((killed + 1))
      of[$signal]=$((of[$signal] + 1))
    fi
  done
  if ((status == 124 || status == 137)); then
    status=0
    grade env || status=$?
  fi
  ((status == 0)) || fail "the grader ended with $status"
  list $database >"$base/$database.csv"
  diff "$base/whole.csv" "$base/$database.csv"
  if [[ -e $base/$database.db.work ]]; then
    echo "$base/$database.db.work is left over" >&2
    exit 1
  fi
  # All that a killed run started ended with it.
  for ((i = 0; i < 50; ++i)); do
    pgrep -f "$base/submissions" >/dev/null || pgrep -f "$base/$database" >/dev/null || break
    sleep 0.1
  done
  if ((i == 50)); then
    echo "processes of a killed run are still there:" >&2
    pgrep -af "$base" >&2
    exit 1
  fi
  echo "round $rounds: killed $killed times so far, equal results"
done
# "passed" is a "yes" in the list.
while read -r student becomes; do
  if ! grep "^$student,.*,${becomes/passed/yes}," "$base/whole.csv" >/dev/null; then
    echo "$student must be $becomes" >&2
    exit 1
  fi
done <"$base/expected"
echo "$count submissions, killed ${of[KILL]} times with SIGKILL and ${of[INT]} times with SIGINT in" \
  "$rounds rounds: equal results"
