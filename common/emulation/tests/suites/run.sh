#!/usr/bin/env bash
# Runs programs of others on the emulated device and compares their ends with the list beside this
# file. Not part of CI: their code stays outside of the project.
#
#   common/emulation/tests/suites/run.sh FOLDER [NAME...]
#
# FOLDER holds a checkout of each repository of the list under its own name, at the commit named
# there. With names, only the programs of these folders are run. Exit code: 0 if all ended as the
# list says.
set -uo pipefail

here=$(cd "$(dirname "$0")" && pwd)
folder=${1:?The folder with the checkouts is missing. Example: run.sh ../suites adam reverse}
shift
run=${CONVLAB_RUN:-$(cd "$here/../../../.." && pwd)/build/bin/convlab-run}
[[ -x $run ]] || { echo "run.sh: There is no $run; build it, or name it in CONVLAB_RUN." >&2; exit 3; }
output=$(mktemp) || exit 3
trap 'rm -f "$output"' EXIT

right=0 all=0 checkout=""
trim() { sed 's/^ *//; s/ *$//' <<<"$1"; }
while IFS='|' read -r place sources arguments expected; do
  place=$(trim "$place") expected=$(trim "$expected")
  case $place in
    '' | '#'*) continue ;;
    repository) checkout=$folder/$(basename "$(trim "$sources")") && continue ;;
  esac
  name=$(basename "$place" -cuda)
  [[ $name != src ]] || name=$(grep -o "[^ ]*\.cu" <<<"$sources")
  (($# == 0)) || [[ " $* " == *" $name "* ]] || continue
  [[ -d $checkout/$place ]] || { echo "$name | not there |" && continue; }
  read -ra words <<<"$sources -- $arguments"
  begin=$SECONDS
  (cd "$checkout/$place" && timeout "${CONVLAB_SUITE_TIMEOUT:-300}" "$run" "${words[@]}") \
    >"$output" 2>&1 </dev/null
  code=$?
  ((++all))
  seen="exit $code"
  # "exit N" and then what the output holds; "silent": no report of the device.
  read -r _ wanted text <<<"$expected"
  if [[ $code != "$wanted" ]]; then
    seen+=": $(grep -m1 -E 'emulated device|error|FAIL|PASS' "$output")"
  elif [[ $text == silent* ]] && grep -q 'emulated device: ' "$output"; then
    seen=$(grep -m1 'emulated device: ' "$output")
  elif text=${text#silent} && [[ -n ${text# } ]] && ! grep -q -E -- "${text# }" "$output"; then
    seen+=": no '${text# }'"
  else
    ((++right))
    seen="right"
  fi
  echo "$name | $seen | $((SECONDS - begin)) s"
done <"$here/list.txt"
echo "$right of $all end as the list says"
((right == all))
