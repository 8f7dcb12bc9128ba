// A submission that prints its environment and ends.
#include <unistd.h>

#include <cstdio>

int main() {
  for (char** each = environ; *each != nullptr; ++each) std::puts(*each);
  return 1;
}
