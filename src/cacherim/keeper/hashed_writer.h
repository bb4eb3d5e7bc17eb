// HashedWriter: hands a layer on to another taker, on a thread of its own, and hashes its files there. So who
// unpacks a layer goes on while its files are written, and nobody has to read them again.
//
// What the other taker refuses is the error of a later call, or of finish().
// Made by and called from one thread; `to` outlives it. A few pieces are in memory at a time.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/hash.h"
#include "base/mailbox.h"
#include "base/worker.h"
#include "cacherim/image/archive.h"
#include "cacherim/store/store.h"

namespace gs::cacherim {

class HashedWriter final : public LayerTaker {
 public:
  explicit HashedWriter(LayerTaker& to)
      : to_{to}, worker_{"write", [this](const std::stop_token&) { writeAll(); }} {}
  HashedWriter(const HashedWriter&) = delete;
  HashedWriter& operator=(const HashedWriter&) = delete;
  ~HashedWriter() override { pieces_.close(); }

  [[nodiscard]] Status folder(const kcache::Placed& folder) override {
    next_ = Piece{.begins = folder};
    return handOn();
  }
  [[nodiscard]] Status beginFile(const kcache::Placed& file, std::int64_t size) override {
    next_ = Piece{.begins = file, .size = size};
    return {};
  }
  [[nodiscard]] Status piece(std::string_view bytes) override {
    if (!next_.bytes.empty()) {
      if (Status out = handOn(); !out) { return out; }
    }
    next_.bytes = bytes;
    return {};
  }
  [[nodiscard]] Status endFile() override {
    next_.ends = true;
    return handOn();
  }

  /// All files of the cache that were taken, by path. Nothing may be taken after.
  [[nodiscard]] Result<StoredFiles> finish() {
    if (Status out = end(); !out) { return because(out.error()); }
    return std::move(files_);
  }

 private:
  static constexpr std::size_t kPiecesAhead = 16;
  /// A folder, or some of a file; of a small one all.
  struct Piece {
    std::optional<kcache::Placed> begins{};
    std::int64_t size = 0;
    std::string bytes{};
    bool ends = false;
  };

  Status handOn() {
    if (pieces_.push(std::exchange(next_, {}))) { return {}; }
    return end();
  }
  Status end() {
    pieces_.close();
    worker_.join();
    return status_;
  }

  void writeAll() {
    while (auto piece = pieces_.pop()) {
      status_ = write(*piece);
      if (status_) { continue; }
      pieces_.close();
      return;
    }
  }
  Status write(const Piece& piece) {
    if (piece.begins) {
      placed_ = *piece.begins;
      if (placed_.is_folder) { return to_.folder(placed_); }
      hash_ = Sha256{};
      file_ = {.hex = {}, .executable = placed_.is_executable, .size = 0};
      if (Status begun = to_.beginFile(placed_, piece.size); !begun) { return begun; }
    }
    if (!piece.bytes.empty()) {
      hash_.update(piece.bytes);
      file_.size += piece.bytes.size();
      if (Status written = to_.piece(piece.bytes); !written) { return written; }
    }
    if (!piece.ends) { return {}; }
    file_.hex = hash_.hex();
    if (placed_.where == kcache::Placed::Where::Cache) { files_.insert_or_assign(placed_.path, file_); }
    return to_.endFile();
  }

  LayerTaker& to_;
  Piece next_;
  // The worker's until it is joined.
  kcache::Placed placed_;  // that is being taken
  StoredFile file_;
  Sha256 hash_;
  StoredFiles files_;
  Status status_;
  Mailbox<Piece> pieces_{kPiecesAhead};
  Worker worker_;
};

}  // namespace gs::cacherim
