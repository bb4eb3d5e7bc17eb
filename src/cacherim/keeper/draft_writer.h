// DraftWriter: the files of a layer into a Draft of the store, hashed and written on a thread of its own. So
// who unpacks a layer goes on while its files are written, and nobody has to read them again.
//
// An error of the disk is said by a later call, or by finish(). Errors else: Invalid, a path that the store
// cannot have; Unavailable, what does not fit its share.
// Made by and called from one thread; `draft` and `coming` outlive it. A few pieces are in memory at a time.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/hash.h"
#include "base/mailbox.h"
#include "base/worker.h"
#include "cacherim/image/archive.h"
#include "cacherim/keeper/shares.h"
#include "cacherim/store/store.h"

namespace gs::cacherim {

class DraftWriter final : public LayerTaker {
 public:
  /// `coming`: what the layer has to fit in; nullptr: there is no limit.
  explicit DraftWriter(const Draft& draft, Shares::Coming* coming = nullptr)
      : draft_{draft}, coming_{coming}, worker_{"write", [this](const std::stop_token&) { writeAll(); }} {}
  DraftWriter(const DraftWriter&) = delete;
  DraftWriter& operator=(const DraftWriter&) = delete;
  ~DraftWriter() override { pieces_.close(); }

  [[nodiscard]] Status folder(const kcache::Placed& folder) override;
  [[nodiscard]] Status beginFile(const kcache::Placed& file, std::int64_t size) override;
  [[nodiscard]] Status piece(std::string_view bytes) override;
  [[nodiscard]] Status endFile() override;

  /// What the layer has. Nothing may be taken after.
  [[nodiscard]] Result<LayerRecord> finish(const kcache::Digest& layer);

 private:
  static constexpr std::size_t kPiecesAhead = 16;
  /// Some of a file; of a small one all.
  struct Piece {
    std::optional<kcache::Placed> begins{};
    std::string bytes{};
    bool ends = false;
  };

  Status handOn();
  Status end();
  void writeAll();
  [[nodiscard]] Status write(const Piece& piece);

  Status addFolder(std::string_view path);
  Status fits(const Room& room) { return coming_ == nullptr ? Status{} : coming_->add(room); }

  const Draft& draft_;
  Shares::Coming* const coming_;
  Piece next_;
  bool is_kept_ = false;  // the file that is being taken: an image's manifest is none of the cache
  std::set<std::string, std::less<>> folders_;  // with those that only a path names
  // The worker's until it is joined.
  std::optional<Draft::NewFile> file_;  // that is being written
  std::string path_;                    // its
  StoredFiles files_;
  Status status_;
  Mailbox<Piece> pieces_{kPiecesAhead};
  Worker worker_;
};

}  // namespace gs::cacherim
