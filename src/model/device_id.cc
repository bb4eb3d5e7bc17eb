#include "model/device_id.h"

#include <fmt/core.h>

#include <charconv>
#include <optional>

namespace gs::model {
namespace {

std::optional<int> numberUpTo(std::string_view text, int most) {
  int out = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{} || end != text.data() + text.size() || out < 0 || out > most) {
    return std::nullopt;
  }
  return out;
}

}  // namespace

Result<DeviceId> parseDeviceId(std::string_view text) {
  const auto slash = text.find('/');
  const auto gpu = numberUpTo(text.substr(0, slash), DeviceId::kMostGpu);
  if (gpu && slash == std::string_view::npos) { return DeviceId{*gpu, DeviceId::kWhole}; }
  const auto partition = slash == std::string_view::npos
                             ? std::nullopt
                             : numberUpTo(text.substr(slash + 1), DeviceId::kMostPartition);
  if (gpu && partition) { return DeviceId{*gpu, *partition}; }
  constexpr std::size_t kShown = 100;
  return fail(Code::Invalid,
              fmt::format("'{}' is not a device; write its id from 0 to {} such as 3, or 3/1 for partition 1 "
                          "(0 to {}) of it",
                          text.substr(0, kShown), DeviceId::kMostGpu, DeviceId::kMostPartition));
}

std::string print(DeviceId id) {
  return id.isWhole() ? std::to_string(id.gpu) : fmt::format("{}/{}", id.gpu, id.partition);
}

}  // namespace gs::model
