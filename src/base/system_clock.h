// The machine's clocks behind gs::Clock. Made in apps and handed to the threads that drive the machines.
#pragma once

#include "base/clock.h"

namespace gs {

class SystemClock final : public Clock {
 public:
  [[nodiscard]] Now now() const override;
};

}  // namespace gs
