// The head of a message on a byte stream: as many bytes as it always has, which may come one by one. Numbers
// in it are big endian.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace gs::rpc::ttrpc {

template <std::size_t kSize>
class FixedHeader {
 public:
  /// Takes what is missing from the front of `bytes`. True: all of it is here, until clear().
  bool take(std::string_view& bytes) {
    const std::size_t count = std::min(kSize - held_.size(), bytes.size());
    held_.append(bytes.substr(0, count));
    bytes.remove_prefix(count);
    return held_.size() == kSize;
  }
  void clear() { held_.clear(); }

  /// Of a header that is here.
  [[nodiscard]] std::uint8_t u8(std::size_t at) const { return static_cast<std::uint8_t>(held_[at]); }
  [[nodiscard]] std::uint32_t u32(std::size_t at) const {
    std::uint32_t out = 0;
    for (std::size_t i = at; i < at + 4; ++i) { out = out << 8U | u8(i); }
    return out;
  }

 private:
  std::string held_;
};

inline void appendU32(std::string& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) { out += static_cast<char>(value >> shift & 0xFFU); }
}

}  // namespace gs::rpc::ttrpc
