#include "rpc/ttrpc/mux.h"

#include <fmt/format.h>

#include <algorithm>

namespace gs::rpc::ttrpc {

Result<std::optional<Piece>> MuxReader::next(std::string_view& bytes) {
  while (header_.take(bytes)) {
    const std::uint32_t conn = header_.u32(0);
    const std::size_t size = header_.u32(4);
    if (size > kMostToRead) {
      return fail(Code::Invalid, fmt::format("a piece of {} bytes for connection {}; at most {} are read",
                                             size, conn, kMostToRead));
    }
    const std::size_t count = std::min(size - taken_, bytes.size());
    const std::string_view piece = bytes.substr(0, count);
    bytes.remove_prefix(count);
    taken_ += count;
    if (taken_ == size) {
      header_.clear();
      taken_ = 0;
    }
    if (count > 0) { return Piece{.conn = conn, .bytes = piece}; }
    if (bytes.empty()) { break; }  // the header is here, and nothing of the piece
  }
  return std::nullopt;
}

void appendPieces(std::string& out, std::uint32_t conn, std::string_view bytes) {
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, kMostToSend - kMuxHeader);
    appendU32(out, conn);
    appendU32(out, static_cast<std::uint32_t>(piece.size()));
    out += piece;
    bytes.remove_prefix(piece.size());
  }
}

}  // namespace gs::rpc::ttrpc
