// Addresses of a simulated network, handed out in order: PREFIX.0.1, PREFIX.0.2, ... up to PREFIX.249.250,
// then again from the first. Told of those that are in use, it goes on after the highest.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gs::sandbox {

class Addresses {
 public:
  /// Such as "10.244".
  explicit Addresses(std::string prefix) : prefix_{std::move(prefix)} {}

  /// Others than PREFIX.x.y are passed over.
  void inUse(std::string_view address);
  [[nodiscard]] std::string next();

 private:
  std::string prefix_;
  std::uint32_t next_ = 0;
};

}  // namespace gs::sandbox
