#include "base/system_clock.h"

namespace gs {

Now SystemClock::now() const {
  return {std::chrono::time_point_cast<Mono::duration>(std::chrono::steady_clock::now()),
          std::chrono::time_point_cast<Wall::duration>(std::chrono::system_clock::now())};
}

}  // namespace gs
