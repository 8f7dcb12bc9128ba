#!/usr/bin/env bash
# A large class with stub times through a Slurm of one node: how long the bookkeeping takes, and
# that no submission is lost or graded twice while node and grader are killed.
#
#     grader/class/tests/class_at_scale.sh BUILD [COUNT] [KILLS] [CHUNK]
#
# Prints the longest time of `class status` while the class is graded and the time of its pages; no
# time makes it fail. 1000 submissions and 6 kills take about ten minutes on 2 cores.
set -euo pipefail

build=$(realpath "${1:?the build folder}")
count=${2:-1000}
kills=${3:-6}
chunk=${4:-10}
# shellcheck source=grader/class/tests/one_node_slurm.sh
source "$(dirname "${BASH_SOURCE[0]}")/one_node_slurm.sh"

"$build/tests/made-up-class" "$base" "$count" stub
touch "$base/checks.txt"
class=("$build/bin/grader" class)
database=(--database "$base/class.db")

grading=0
grade() {
  "${class[@]}" grade "$base/submissions" "${database[@]}" --grader "$base/grader" --launcher slurm \
    --gres '' --sbatch=--mem=500 --chunk "$chunk" --limit 60 --leaderboard "$base/pages/leaderboard.html" \
    >>"$base/graded.txt" 2>&1 &
  grading=$!
  pids=("$grading")
}
now() { date +%s%N; }
# milliseconds FROM
milliseconds() { echo $((($(now) - $1) / 1000000)); }

slowest=0
look() {
  local begin took
  begin=$(now)
  "${class[@]}" status "${database[@]}" >"$base/status.txt" 2>&1 || return 0
  took=$(milliseconds "$begin")
  ((took <= slowest)) || slowest=$took
}
done_so_far() { grep -c "^end" "$base/checks.txt" || true; }

begin=$(now)
grade
killed=0
while ((killed < kills)); do
  # Spread over the class: a share of it is done between two kills.
  until (($(done_so_far) > count * (killed + 1) / (kills + 2))); do
    kill -0 "$grading" 2>/dev/null || break 2
    look
    sleep 1
  done
  # In turns the node with its jobs, the grader that waits, and both.
  if ((killed % 3 != 1)); then kill_node; fi
  if ((killed % 3 != 0)); then
    kill -9 "$grading"
    wait "$grading" 2>/dev/null || true
  fi
  if ((killed % 3 != 1)); then start_node; fi
  if ((killed % 3 != 0)); then grade; fi
  killed=$((killed + 1))
done
status=0
while kill -0 "$grading" 2>/dev/null; do
  look
  sleep 1
done
wait "$grading" || status=$?
pids=()
# Once more, as an instructor would: there is nothing left to do.
"${class[@]}" grade "$base/submissions" "${database[@]}" --grader "$base/grader" >"$base/again.txt" ||
  status=$?
echo "$count submissions through Slurm, $killed kills of node or grader: $(($(milliseconds "$begin") / 1000)) s"

wrong=0
must() { # must WHAT IS SHOULD
  [[ $2 == "$3" ]] && return
  echo "$1: $2 instead of $3"
  wrong=1
}
must "exit code of the grader" "$status" 0
must "graded again by a last run" "$(grep -c "$count of $count are graded already" "$base/again.txt")" 1
"${class[@]}" export --format csv "${database[@]}" >"$base/list.csv"
must "submissions in the database" "$(($(wc -l <"$base/list.csv") - 1))" "$count"
must "graded submissions" "$(cut -d, -f5 "$base/list.csv" | grep -c '^graded$')" "$count"
must "different sources" "$(cut -d, -f19 "$base/list.csv" | tail -n +2 | sort -u | wc -l)" "$count"
# What the number in each source gives, and nobody else's.
must "right points" "$(
  awk -F, 'NR > 1 {
    match($19, /s[0-9]+-m1-[0-9]/)
    split(substr($19, RSTART + 1), part, "-")
    number = (part[1] - 10000) * 4 + substr(part[3], 1, 1)
    points = number % 5 < 2 ? 0 : 100 - number % 50
    if ($6 == points) ++right
  } END { print right + 0 }' "$base/list.csv"
)" "$count"
# An outcome that is stored is never stored again: `show` would list the old one.
must "outcomes stored twice" "$(cut -d, -f1 "$base/list.csv" | tail -n +2 | sort -u |
  while read -r student; do "${class[@]}" show "$student" "${database[@]}"; done | grep -c '^  until ' || true)" 0
begun=$(grep -c ^begin "$base/checks.txt")
ended=$(grep -c ^end "$base/checks.txt")
twice=$(grep ^end "$base/checks.txt" | sort | uniq --repeated | wc -l)
echo "checks begun $begun, ended $ended; ended more than once: $twice (a kill came between a check" \
  "and the note of its outcome)"
# Each kill of the node can hit what its cores are doing at that moment.
((twice <= killed * $(nproc))) || must "checks that ended more than once" "$twice" "at most $((killed * $(nproc)))"

look
begin=$(now)
"${class[@]}" plot "${database[@]}" --output "$base/pages" >/dev/null
pages=$(milliseconds "$begin")
begin=$(now)
"${class[@]}" export --format canvas "${database[@]}" >/dev/null
exported=$(milliseconds "$begin")
printf 'status at most %d.%03d s, all pages %d.%03d s, export %d.%03d s\n' \
  $((slowest / 1000)) $((slowest % 1000)) $((pages / 1000)) $((pages % 1000)) \
  $((exported / 1000)) $((exported % 1000))
((wrong == 0)) && echo "none lost, none twice"
((wrong == 0)) || { tail -5 "$base/graded.txt" && false; }
