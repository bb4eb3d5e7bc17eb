// HashedWriter: hands a layer on to another taker, and hashes its files meanwhile on a thread of its own, so
// that nobody has to read them again.
//
// Made by and called from one thread; `to` outlives it. A few pieces are in memory at a time.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "base/hash.h"
#include "base/mailbox.h"
#include "base/worker.h"
#include "cacherim/image/archive.h"
#include "cacherim/store/store_records.h"

namespace gs::cacherim {

class HashedWriter final : public LayerTaker {
 public:
  explicit HashedWriter(LayerTaker& to)
      : to_{to}, worker_{"hash", [this](const std::stop_token&) { hashAll(); }} {}
  HashedWriter(const HashedWriter&) = delete;
  HashedWriter& operator=(const HashedWriter&) = delete;
  ~HashedWriter() override { pieces_.close(); }

  [[nodiscard]] Status folder(const kcache::Placed& folder) override { return to_.folder(folder); }
  [[nodiscard]] Status beginFile(const kcache::Placed& file, std::int64_t size) override {
    is_hashed_ = file.where == kcache::Placed::Where::Cache;
    if (is_hashed_) { pieces_.push({file.path, Piece::Begin, file.is_executable}); }
    return to_.beginFile(file, size);
  }
  [[nodiscard]] Status piece(std::string_view bytes) override {
    if (is_hashed_) { pieces_.push({std::string{bytes}, Piece::Bytes}); }
    return to_.piece(bytes);
  }
  [[nodiscard]] Status endFile() override {
    if (is_hashed_) { pieces_.push({{}, Piece::End}); }
    return to_.endFile();
  }

  /// All files that were taken, by path. Nothing may be taken after.
  [[nodiscard]] std::map<std::string, StoredFile> finish() {
    pieces_.close();
    worker_.join();
    return std::move(files_);
  }

 private:
  static constexpr std::size_t kPiecesAhead = 16;
  struct Piece {
    enum What : std::uint8_t { Begin, Bytes, End };
    std::string text;  // Begin: the path; Bytes: some of the file's
    What what = Bytes;
    bool is_executable = false;  // Begin
  };

  void hashAll() {
    Sha256 hash;
    std::string path;
    StoredFile file;
    while (auto piece = pieces_.pop()) {
      switch (piece->what) {
        case Piece::Begin:
          hash = Sha256{};
          path = std::move(piece->text);
          file = {.hex = {}, .executable = piece->is_executable, .size = 0};
          break;
        case Piece::Bytes:
          hash.update(piece->text);
          file.size += piece->text.size();
          break;
        case Piece::End:
          file.hex = hash.hex();
          files_.insert_or_assign(path, file);
          break;
      }
    }
  }

  LayerTaker& to_;
  bool is_hashed_ = false;                   // the file that is being taken
  std::map<std::string, StoredFile> files_;  // the worker's until it is joined
  Mailbox<Piece> pieces_{kPiecesAhead};
  Worker worker_;
};

}  // namespace gs::cacherim
