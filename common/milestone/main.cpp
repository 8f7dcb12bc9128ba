// The main of every milestone's executable; convlab_add_milestone defines the three names.
#include "common/milestone/milestone_main.hpp"

int main(int argc, char** argv) {
  return convlab::milestone_main(
      {.id = CONVLAB_MILESTONE, .solution = CONVLAB_SOLUTION, .on_gpu = CONVLAB_ON_GPU != 0}, argc,
      argv);
}
