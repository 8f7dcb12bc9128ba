// Writes a made-up class: build/ci/tests/made-up-class DIR COUNT prints for each submission what
// must become of it. tests/class_through_slurm.sh grades one in two ways.
#include <cstdlib>
#include <iostream>

#include "grader/class/tests/made_up_class.hpp"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "Usage: made-up-class DIR COUNT\n";
    return 2;
  }
  for (const auto& [student, becomes] : convlab::grader::testing::make_class(
           argv[1], CONVLAB_SOURCE_DIR "/grader/corpus/exploits", std::atoi(argv[2]))) {
    std::cout << student << " " << becomes << "\n";
  }
  return 0;
}
