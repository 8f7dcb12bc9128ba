// Writes a made-up class: build/ci/tests/made-up-class DIR COUNT prints for each submission what
// must become of it; tests/class_through_slurm.sh grades one in two ways. With a third argument,
// "stub", it writes a class whose checks cost nothing, for tests/class_at_scale.sh.
#include <cstdlib>
#include <iostream>
#include <string>

#include "grader/class/tests/made_up_class.hpp"

int main(int argc, char** argv) {
  const bool is_stub = argc == 4 && argv[3] == std::string("stub");
  if (argc != 3 && !is_stub) {
    std::cerr << "Usage: made-up-class DIR COUNT [stub]\n";
    return 2;
  }
  if (is_stub) {
    convlab::grader::testing::make_stub_class(argv[1], std::atoi(argv[2]));
    return 0;
  }
  for (const auto& [student, becomes] :
       convlab::grader::testing::make_class(argv[1], std::atoi(argv[2]))) {
    std::cout << student << " " << becomes << "\n";
  }
  return 0;
}
