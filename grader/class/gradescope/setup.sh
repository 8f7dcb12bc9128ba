#!/usr/bin/env bash
# Gradescope runs this once, as root, when the autograder's image is made. The archive that is
# uploaded holds setup.sh, run_autograder and the workbook's tree in convlab/ (docs/class.md).
set -euo pipefail

source=${AUTOGRADER:-/autograder}/source
cd "$source/convlab"
common/setup/lab setup
cmake --preset lab -DCONVLAB_BENCHMARKS=OFF
cmake --build --preset lab
