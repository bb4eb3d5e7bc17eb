// Frames of ttrpc: what containerd speaks with its plugins instead of gRPC. A call is one frame, its answer
// is another with the same stream id. Pure: bytes in, frames out.
//
//   u32 length of the data, u32 stream id, u8 type, u8 flags, data; big endian
//
// Who calls uses odd stream ids that increase. Frames of several calls may come in any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "rpc/ttrpc/fixed_header.h"

namespace gs::rpc::ttrpc {

inline constexpr std::size_t kFrameHeader = 10;
inline constexpr std::size_t kMostOfAFrame = std::size_t{4} << 20;  // of data; ttrpc sends no longer ones

/// Others may come: whoever does not know them passes them over.
enum class FrameType : std::uint8_t { Request = 1, Response = 2, Data = 3 };

struct Frame {
  std::uint32_t stream = 0;
  FrameType type = FrameType::Request;
  std::uint8_t flags = 0;  // 0, but in streams of several messages
  std::string data{};
  friend bool operator==(const Frame&, const Frame&) = default;
};

/// Bytes come in pieces of any size.
class FrameReader {
 public:
  /// Takes bytes from the front until a frame is complete; nullopt: all were taken and none is. Error
  /// Invalid: the frame that comes is too long; nothing can be read any more.
  [[nodiscard]] Result<std::optional<Frame>> next(std::string_view& bytes);

 private:
  FixedHeader<kFrameHeader> header_;
  std::string data_;  // of the frame whose header is here
};

void appendFrame(std::string& out, const Frame& frame);

}  // namespace gs::rpc::ttrpc
