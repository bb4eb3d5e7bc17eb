// Any bytes as what the kernel says of a node of KFD's topology: a name of an arch is one, whatever it says.
#include <cstdint>
#include <string_view>

#include "noderim/kfd.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto gpu = gs::noderim::kfdGpuIn({reinterpret_cast<const char*>(data), size});
  if (!gpu) { return 0; }
  const std::string_view digits = std::string_view{gpu->arch}.substr(3);
  if (!gpu->arch.starts_with("gfx") || digits.size() < 3 || digits.size() > 4) { __builtin_trap(); }
  if (digits.find_first_not_of("0123456789abcdef") != std::string_view::npos) { __builtin_trap(); }
  return 0;
}
