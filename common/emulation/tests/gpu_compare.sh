#!/bin/sh
# Compares device emulation with a GPU: builds the features for both, runs both, prints counts.
# Where compiler and GPU are on different machines, do the three steps by hand; see
# docs/emulation.md. Run it from the root of the repository.
#
#   common/emulation/tests/gpu_compare.sh [BUILD_FOLDER] [GPU_ARCHITECTURES]
set -eu

build=${1:-build/gpu}
architectures=${2:-native}

cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCONVLAB_BENCHMARKS=OFF \
      -DCMAKE_CUDA_ARCHITECTURES="$architectures"
cmake --build "$build" --target emulation_features emulation_features-emulated
"$build/bin/emulation_features" --json "$build/gpu.json"
"$build/bin/emulation_features-emulated" --compare "$build/gpu.json"
