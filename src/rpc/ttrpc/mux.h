// Several connections on one socket, as NRI has them: the runtime calls the plugin on one, the plugin calls
// the runtime on another. Pure.
//
//   u32 connection, u32 length, bytes; big endian
//
// A connection is a stream of bytes: where it is cut says nothing. (The runtime does read each piece into a
// buffer of 4096 bytes, and drops the connection when one is longer: what is sent is cut shorter than that.)
// Nothing is said when a connection is opened or closed; bytes of one that is unknown are dropped by who
// reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "rpc/ttrpc/fixed_header.h"
#include "rpc/ttrpc/frames.h"

namespace gs::rpc::ttrpc {

inline constexpr std::size_t kMuxHeader = 8;
inline constexpr std::size_t kMostToRead = kFrameHeader + kMostOfAFrame;  // of one piece, without its header
inline constexpr std::size_t kMostToSend = 4096;                          // of one piece, with its header

struct Piece {
  std::uint32_t conn = 0;
  std::string_view bytes;  // never empty; a part of what was given to next()
};

/// Bytes come in pieces of any size, and none is kept.
class MuxReader {
 public:
  /// Takes bytes from the front until some of them belong to a connection; nullopt: all were taken. Error
  /// Invalid: the piece that comes is too long; nothing can be read any more.
  [[nodiscard]] Result<std::optional<Piece>> next(std::string_view& bytes);

 private:
  FixedHeader<kMuxHeader> header_;
  std::size_t taken_ = 0;  // of the piece whose header is here
};

/// `bytes` as pieces of `conn`.
void appendPieces(std::string& out, std::uint32_t conn, std::string_view bytes);

}  // namespace gs::rpc::ttrpc
