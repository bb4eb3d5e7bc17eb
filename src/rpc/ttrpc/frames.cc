#include "rpc/ttrpc/frames.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace gs::rpc::ttrpc {

Result<std::optional<Frame>> FrameReader::next(std::string_view& bytes) {
  if (!header_.take(bytes)) { return std::nullopt; }
  const std::size_t size = header_.u32(0);
  if (size > kMostOfAFrame) {
    return fail(Code::Invalid,
                fmt::format("a ttrpc frame of {} bytes; at most {} are read", size, kMostOfAFrame));
  }
  const std::size_t count = std::min(size - data_.size(), bytes.size());
  data_.append(bytes.substr(0, count));
  bytes.remove_prefix(count);
  if (data_.size() < size) { return std::nullopt; }
  Frame out{.stream = header_.u32(4),
            .type = static_cast<FrameType>(header_.u8(8)),
            .flags = header_.u8(9),
            .data = std::exchange(data_, {})};
  header_.clear();
  return out;
}

void appendFrame(std::string& out, const Frame& frame) {
  appendU32(out, static_cast<std::uint32_t>(frame.data.size()));
  appendU32(out, frame.stream);
  out += static_cast<char>(frame.type);
  out += static_cast<char>(frame.flags);
  out += frame.data;
}

}  // namespace gs::rpc::ttrpc
