#!/usr/bin/env bash
# Google Benchmark 1.7.1 (Debian 12, libbenchmark-dev 1.7.1-1): one counter that is no number makes the
# whole JSON file unreadable for nlohmann-json 3.11.2, while Python reads it.
#
# Guess before the run: a counter that is infinite or NaN is written as null, since JSON has no word for
# either; or it is left out.
# Seen: "best": Infinity and "none": NaN are written as bare words. nlohmann-json refuses the file at the
# first of them, so the results of all other benchmarks are lost too. Python's json takes both words. The
# CSV of the same run has inf and nan.
# Why it matters: a rate whose time or count is zero is enough (1.0 / 0); the run itself ends with 0.
#
# Run it with   findings/benchmark_json_has_infinity.sh
# It needs apt-get, dpkg, g++ and python3, and works in a temporary folder.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download libbenchmark-dev=1.7.1-1 libbenchmark1debian=1.7.1-1 nlohmann-json3-dev=3.11.2-2 \
  >download.log 2>&1 || {
  cat download.log >&2
  exit 3
}
for package in *.deb; do dpkg --extract "$package" packages; done
library=$(dirname "$(find "$PWD/packages" -name libbenchmark.so)")

cat >counts.cpp <<'CPP'
#include <benchmark/benchmark.h>

#include <limits>

static void with_counters(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(state.iterations());
  state.counters["best"] = 1.0 / static_cast<double>(state.range(0));
  state.counters["none"] = std::numeric_limits<double>::quiet_NaN();
}
BENCHMARK(with_counters)->Arg(0)->Arg(1)->Iterations(10);
BENCHMARK_MAIN();
CPP
cat >reads.cpp <<'CPP'
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>

int main() {
  try {
    const auto results = nlohmann::json::parse(std::cin);
    std::cout << results["benchmarks"].size() << " results\n";
  } catch (const std::exception& error) {
    std::cout << error.what() << "\n";
  }
}
CPP
g++ -O1 -I packages/usr/include counts.cpp -L "$library" -lbenchmark "-Wl,-rpath,$library" -o counts
g++ -I packages/usr/include reads.cpp -o reads

./counts --benchmark_format=json >results.json 2>counts.log
grep -E '"(best|none)"' results.json
python3 -c 'import json; print("python3:", [each["best"] for each in json.load(open("results.json"))["benchmarks"]])'
echo "nlohmann-json: $(./reads <results.json)"

if ! grep -q '"best": Infinity' results.json || ! grep -q '"none": NaN' results.json ||
  ! ./reads <results.json | grep -q 'parse_error.101.*invalid literal'; then
  echo "This is no longer so." >&2
  exit 1
fi
