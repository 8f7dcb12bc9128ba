#!/usr/bin/env bash
# CLI11 2.1.2 (Debian 12, libcli11-dev 2.1.2+ds-1): a range lets "nan" pass, and a whole number with a
# zero in front is read as an octal number.
#
# Guess before the run: CLI::Range(0.5, 8.0) and CLI::PositiveNumber refuse "nan", since it lies in no
# range; "010" is ten, and "08" is eight, in a program for people.
# Seen: the check is written as "smaller than the least, or larger than the largest", which is false
# for NaN; so "nan" reaches the program, where every later comparison with it is false too. "010"
# gives 8. "08" is refused with "Value 08 not in range 1 to 99", although 8 is in that range.
# Why it matters: a time limit of NaN never ends, and a batch of 010 images silently has 8.
#
# Run it with   findings/cli11_range_takes_nan.sh
# It needs apt-get, dpkg and g++, and works in a temporary folder.
set -euo pipefail

version=2.1.2+ds-1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download "libcli11-dev=$version" >download.log 2>&1 || {
  cat download.log >&2
  exit 3
}
dpkg --extract libcli11-dev_*.deb package

cat >takes.cpp <<'CPP'
#include <CLI/CLI.hpp>
#include <iostream>

int main(int argc, char** argv) {
  CLI::App app;
  double hours = 0;
  double positive = 0;
  int count = 0;
  app.add_option("--hours", hours)->check(CLI::Range(0.5, 8.0));
  app.add_option("--positive", positive)->check(CLI::PositiveNumber);
  app.add_option("--count", count)->check(CLI::Range(1, 99));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::cout << "refused\n";
    return 0;
  }
  std::cout << hours << " " << positive << " " << count << "\n";
}
CPP
g++ -std=c++17 -isystem package/usr/include takes.cpp -o takes

failed=0
# sees WANTED ARGUMENTS…
sees() {
  local got
  got=$(./takes "${@:2}")
  printf '%-18s %s\n' "${*:2}" "$got"
  [[ $got == "$1" ]] || {
    echo "  $version printed: $1"
    failed=1
  }
}
sees "refused" --hours 9
sees "nan 0 0" --hours nan
sees "0 nan 0" --positive nan
sees "refused" --positive inf
sees "0 0 8" --count 010
sees "refused" --count 08
exit "$failed"
