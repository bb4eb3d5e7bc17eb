// For a test of how what something costs grows with its size. Included by tests only.
#pragma once

#include <algorithm>
#include <ctime>

namespace gs {

/// Seconds that this thread has worked: what others do on the machine is none of it.
inline double cpuSeconds() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

/// Of `what`, the least of three times.
template <class What>
double cpuSecondsOf(const What& what) {
  double least = 1e9;
  for (int i = 0; i < 3; ++i) {
    const double began = cpuSeconds();
    what();
    least = std::min(least, cpuSeconds() - began);
  }
  return least;
}

}  // namespace gs
