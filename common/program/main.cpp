// The main of every milestone's executable. convlab_add_…_milestone (ConvLabTargets.cmake) defines
// the names in capitals.
#include "common/program/milestone_main.hpp"
#if CONVLAB_USES_DEVICE
#include "common/device/cuda_session.hpp"
#endif

int main(int argc, char** argv) {
  convlab::Milestone milestone{.id = CONVLAB_MILESTONE,
                               .solution = CONVLAB_SOLUTION,
                               .device = convlab::Device::CONVLAB_DEVICE};
#if CONVLAB_USES_DEVICE
  milestone.open_device = convlab::open_cuda_session;
#endif
  return convlab::milestone_main(milestone, argc, argv);
}
