#include "cacherim/image/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "base/hash.h"
#include "base/mailbox.h"
#include "base/worker.h"

namespace gs::cacherim {
namespace {

constexpr std::size_t kPiecesAhead = 16;
constexpr std::size_t kPiece = std::size_t{128} << 10;

struct CloseReading {
  void operator()(archive* a) const { ::archive_read_free(a); }
};
struct CloseWriting {
  void operator()(archive* a) const { ::archive_write_free(a); }
};
struct CloseEntry {
  void operator()(archive_entry* e) const { ::archive_entry_free(e); }
};

std::string saidBy(archive* a) {
  const char* text = ::archive_error_string(a);
  return text == nullptr ? "it ends too early" : text;
}

/// The bytes of a layer, fetched on a thread of their own.
class FetchedBytes {
 public:
  explicit FetchedBytes(const LayerFeed& feed)
      : worker_{"layer", [this, &feed](const std::stop_token&) { fetch(feed); }} {}
  FetchedBytes(const FetchedBytes&) = delete;
  FetchedBytes& operator=(const FetchedBytes&) = delete;
  ~FetchedBytes() { pieces_.close(); }

  /// Valid until the next call; "": the end.
  std::string_view next() {
    auto piece = pieces_.pop();
    current_ = piece ? std::move(*piece) : std::string{};
    return current_;
  }
  /// What is left is fetched too, so that the feed can say whether all bytes were right.
  Status finish() {
    while (!next().empty()) {}
    return stop();
  }
  /// Nothing more is wanted.
  Status stop() {
    pieces_.close();
    worker_.join();
    return status_;
  }

 private:
  void fetch(const LayerFeed& feed) {
    status_ = feed([this](std::string_view piece) {
      for (; !piece.empty(); piece.remove_prefix(std::min(kPiece, piece.size()))) {
        if (!pieces_.push(std::string{piece.substr(0, kPiece)})) { return false; }
      }
      return true;
    });
    pieces_.close();
  }

  Mailbox<std::string> pieces_{kPiecesAhead};
  std::string current_;
  Status status_;  // the worker's until it is joined
  Worker worker_;
};

la_ssize_t giveNext(archive* /*unused*/, void* from, const void** bytes) {
  const std::string_view piece = static_cast<FetchedBytes*>(from)->next();
  *bytes = piece.data();
  return static_cast<la_ssize_t>(piece.size());
}

tl::unexpected<Error> isNoTar(archive* a) {
  return fail(Code::Invalid, fmt::format("the layer is no tar file, plain, gzip or zstd: {}", saidBy(a)));
}

/// The tar file of a layer, uncompressed. All of it passes here, also what a reader of tar files skips or
/// keeps of headers: so nothing grows unwatched.
class TarBytes {
 public:
  TarBytes(FetchedBytes& bytes, const kcache::LayerRules& rules)
      : archive_{::archive_read_new()}, bytes_{bytes}, rules_{rules} {}

  Status open() {
    archive* const a = archive_.get();
    ::archive_read_support_filter_gzip(a);
    ::archive_read_support_filter_zstd(a);
    ::archive_read_support_format_raw(a);
    ::archive_read_support_format_empty(a);
    archive_entry* entry = nullptr;
    if (::archive_read_open(a, &bytes_, nullptr, &giveNext, nullptr) != ARCHIVE_OK) { return isNoTar(a); }
    const int got = ::archive_read_next_header(a, &entry);
    if (got != ARCHIVE_OK && got != ARCHIVE_EOF) { return isNoTar(a); }
    if (::archive_filter_count(a) > 2) { return fail(Code::Invalid, "the layer is compressed twice"); }
    is_empty_ = got == ARCHIVE_EOF;
    return {};
  }
  /// A header is read from here on, or an entry's bytes.
  void beginHeader() { header_bytes_ = 0; }
  void beginEntry() { header_bytes_ = std::nullopt; }
  /// Why next() gave no more.
  [[nodiscard]] const Status& status() const { return status_; }

  static la_ssize_t next(archive* tar, void* from, const void** bytes) {
    auto& self = *static_cast<TarBytes*>(from);
    const la_ssize_t got = self.read();
    *bytes = self.buffer_.data();
    if (got < 0) { ::archive_set_error(tar, -1, "see status()"); }
    return got;
  }

 private:
  la_ssize_t read() {
    if (is_empty_ || !status_) { return status_ ? 0 : -1; }
    archive* const a = archive_.get();
    const la_ssize_t got = ::archive_read_data(a, buffer_.data(), buffer_.size());
    status_ = got < 0 ? isNoTar(a) : watch(got);
    return status_ ? got : -1;
  }
  Status watch(la_ssize_t got) {
    size_ += got;
    if (header_bytes_ && (*header_bytes_ += got) > kMostOfHeader) {
      return fail(Code::Invalid,
                  fmt::format("the layer has over {} MiB of headers before an entry", kMostOfHeader >> 20));
    }
    return rules_.grow(::archive_filter_bytes(archive_.get(), -1), size_);
  }

  static constexpr la_ssize_t kMostOfHeader = la_ssize_t{4} << 20;
  std::unique_ptr<archive, CloseReading> archive_;
  FetchedBytes& bytes_;
  const kcache::LayerRules& rules_;
  Status status_;
  bool is_empty_ = false;
  std::int64_t size_ = 0;
  std::optional<la_ssize_t> header_bytes_;
  std::vector<char> buffer_ = std::vector<char>(kPiece);
};

kcache::EntryKind kindOf(archive_entry* entry) {
  using kcache::EntryKind;
  if (::archive_entry_hardlink(entry) != nullptr) { return EntryKind::HardLink; }
  switch (::archive_entry_filetype(entry)) {
    case AE_IFREG: return EntryKind::File;
    case AE_IFDIR: return EntryKind::Folder;
    case AE_IFLNK: return EntryKind::SymbolicLink;
    case AE_IFCHR:
    case AE_IFBLK:
    case AE_IFIFO:
    case AE_IFSOCK: return EntryKind::Device;
    default: return EntryKind::Other;
  }
}

/// Reads one layer to its end.
class LayerReader {
 public:
  LayerReader(FetchedBytes& bytes, kcache::LayerRules& rules, LayerTaker& taker)
      : archive_{::archive_read_new()}, tar_{bytes, rules}, rules_{rules}, taker_{taker} {}

  Status run() {
    if (Status open = tar_.open(); !open) { return open; }
    archive* const a = archive_.get();
    ::archive_read_support_format_tar(a);
    ::archive_read_support_format_empty(a);
    tar_.beginHeader();
    if (::archive_read_open(a, &tar_, nullptr, &TarBytes::next, nullptr) != ARCHIVE_OK) { return bad(); }
    for (;;) {
      archive_entry* entry = nullptr;
      const int got = ::archive_read_next_header(a, &entry);
      if (got == ARCHIVE_EOF) { return tar_.status(); }
      if (got != ARCHIVE_OK && got != ARCHIVE_WARN) { return bad(); }
      tar_.beginEntry();
      if (Status done = take(entry); !done) { return done; }
      tar_.beginHeader();
    }
  }

 private:
  Status bad() { return tar_.status() ? isNoTar(archive_.get()) : tar_.status(); }

  Status take(archive_entry* entry) {
    const char* name = ::archive_entry_pathname(entry);
    if (name == nullptr) { return fail(Code::Invalid, "the layer has an entry whose name cannot be read"); }
    const kcache::LayerEntry header{.name = name,
                                    .kind = kindOf(entry),
                                    .size = ::archive_entry_size(entry),
                                    .mode = ::archive_entry_perm(entry)};
    if (::archive_entry_sparse_count(entry) > 0) {
      return fail(Code::Invalid, fmt::format("layer entry '{}' has holes: bytes that nobody sent", name));
    }
    const auto placed = rules_.place(header);
    if (!placed) { return tl::unexpected(placed.error()); }
    const bool is_wanted = placed->where != kcache::Placed::Where::Nowhere;
    if (is_wanted && placed->is_folder) { return taker_.folder(*placed); }
    if (!is_wanted) {
      return readBytes(header.size, [](std::string_view) { return Status{}; });
    }
    if (Status begun = taker_.beginFile(*placed, header.size); !begun) { return begun; }
    Status read = readBytes(header.size, [this](std::string_view piece) { return taker_.piece(piece); });
    return read ? taker_.endFile() : read;
  }

  /// Of the entry's `size`, also of one that nobody wants.
  template <class Take>
  Status readBytes(std::int64_t size, const Take& take) {
    for (;;) {
      const la_ssize_t got = ::archive_read_data(archive_.get(), buffer_.data(), buffer_.size());
      if (got < 0) { return bad(); }
      if (got == 0) { return {}; }
      if ((size -= got) < 0) {
        return fail(Code::Invalid, "the layer has an entry of more bytes than it says");
      }
      if (Status taken = take({buffer_.data(), static_cast<std::size_t>(got)}); !taken) { return taken; }
    }
  }

  std::unique_ptr<archive, CloseReading> archive_;
  TarBytes tar_;
  kcache::LayerRules& rules_;
  LayerTaker& taker_;
  std::vector<char> buffer_ = std::vector<char>(kPiece);
};

// ---- writing

/// A chain of libarchive's writers: what comes out is handed to a sink, counted and hashed.
struct Output {
  const ByteSink* sink = nullptr;  // nullptr: it is counted and hashed only
  Sha256 hash{};
  std::int64_t size = 0;
  bool is_refused = false;

  bool write(std::string_view bytes) {
    hash.update(bytes);
    size += static_cast<std::int64_t>(bytes.size());
    is_refused = is_refused || (sink != nullptr && !(*sink)(bytes));
    return !is_refused;
  }
  [[nodiscard]] kcache::Digest digest() const { return *kcache::Digest::parse("sha256:" + hash.hex()); }
};

la_ssize_t writeOut(archive* a, void* to, const void* bytes, std::size_t count) {
  if (static_cast<Output*>(to)->write({static_cast<const char*>(bytes), count})) {
    return static_cast<la_ssize_t>(count);
  }
  ::archive_set_error(a, -1, "nobody takes it");
  return -1;
}

using Writer = std::unique_ptr<archive, CloseWriting>;
using Entry = std::unique_ptr<archive_entry, CloseEntry>;

/// Compresses what it is given: libarchive's "raw" format is one file without anything around it.
class Packer {
 public:
  Packer(Packing packing, const ByteSink& sink) : out_{.sink = &sink} {
    if (packing == Packing::Plain) { return; }
    gzip_.reset(::archive_write_new());
    ::archive_write_set_format_raw(gzip_.get());
    ::archive_write_add_filter_gzip(gzip_.get());
    ::archive_write_set_filter_option(gzip_.get(), "gzip", "timestamp", nullptr);
    ::archive_write_set_bytes_in_last_block(gzip_.get(), 1);
    ::archive_write_open(gzip_.get(), &out_, nullptr, &writeOut, nullptr);
    const Entry entry{::archive_entry_new()};
    ::archive_entry_set_filetype(entry.get(), AE_IFREG);
    ::archive_write_header(gzip_.get(), entry.get());
  }
  bool write(std::string_view bytes) {
    plain_.write(bytes);
    if (!gzip_) { return out_.write(bytes); }
    return ::archive_write_data(gzip_.get(), bytes.data(), bytes.size()) ==
           static_cast<la_ssize_t>(bytes.size());
  }
  /// False: the sink refused.
  bool close() { return gzip_ == nullptr || ::archive_write_close(gzip_.get()) == ARCHIVE_OK; }
  /// Error Invalid: it would be refused as what grows too much when it is read.
  [[nodiscard]] Status check(const kcache::LayerRules& rules) const {
    return rules.grow(out_.size, plain_.size);
  }
  [[nodiscard]] WrittenLayer written() const { return {out_.digest(), plain_.digest(), out_.size}; }

 private:
  Output out_;
  Output plain_{};
  Writer gzip_;
};

la_ssize_t packMore(archive* a, void* to, const void* bytes, std::size_t count) {
  if (static_cast<Packer*>(to)->write({static_cast<const char*>(bytes), count})) {
    return static_cast<la_ssize_t>(count);
  }
  ::archive_set_error(a, -1, "nobody takes it");
  return -1;
}

Status cannotWrite(archive* a, const std::string& name) {
  return fail(Code::Conflict, fmt::format("cannot write layer entry '{}': {}", name, saidBy(a)));
}

Status writeFile(archive* a, const NewEntry& one) {
  std::int64_t written = 0;
  bool is_refused = false;
  Status done = one.bytes([&](std::string_view piece) {
    written += static_cast<std::int64_t>(piece.size());
    is_refused = written > one.size ||
                 ::archive_write_data(a, piece.data(), piece.size()) != static_cast<la_ssize_t>(piece.size());
    return !is_refused;
  });
  if (written != one.size && (done || is_refused)) {
    return fail(Code::Invalid,
                fmt::format("'{}' changed while it was read: {} bytes were there, and now {}{}", one.name,
                            one.size, written, is_refused ? " or more" : ""));
  }
  return is_refused ? cannotWrite(a, one.name) : done;
}

unsigned modeOf(const NewEntry& one) { return one.is_folder || one.is_executable ? 0755 : 0644; }

kcache::LayerEntry ruledEntry(const NewEntry& one) {
  const auto kind = one.is_folder ? kcache::EntryKind::Folder : kcache::EntryKind::File;
  return {.name = one.name, .kind = kind, .size = one.size, .mode = modeOf(one)};
}

Status writeEntry(archive* a, const NewEntry& one) {
  const Entry entry{::archive_entry_new()};
  ::archive_entry_set_pathname(entry.get(), one.name.c_str());
  ::archive_entry_set_filetype(entry.get(), one.is_folder ? AE_IFDIR : AE_IFREG);
  ::archive_entry_set_perm(entry.get(), modeOf(one));
  ::archive_entry_set_size(entry.get(), one.is_folder ? 0 : one.size);
  ::archive_entry_set_mtime(entry.get(), 0, 0);
  ::archive_entry_set_uid(entry.get(), 0);
  ::archive_entry_set_gid(entry.get(), 0);
  if (::archive_write_header(a, entry.get()) < ARCHIVE_WARN) { return cannotWrite(a, one.name); }
  return one.is_folder ? Status{} : writeFile(a, one);
}

}  // namespace

Status readLayer(const LayerFeed& feed, kcache::LayerRules& rules, LayerTaker& taker) {
  FetchedBytes bytes{feed};
  rules.beginLayer();
  const Status read = LayerReader{bytes, rules, taker}.run();
  if (read) { return bytes.finish(); }
  // Bytes that did not come are the reason for what was missed in them.
  const Status fetched = bytes.stop();
  return fetched || fetched.error().code == Code::Conflict ? read : fetched;
}

Result<WrittenLayer> writeLayer(std::vector<NewEntry> entries, Packing packing, const ByteSink& sink,
                                kcache::LayerLimits limits) {
  std::sort(entries.begin(), entries.end(),
            [](const NewEntry& a, const NewEntry& b) { return a.name < b.name; });
  Packer packer{packing, sink};
  const Writer tar{::archive_write_new()};
  ::archive_write_set_format_pax_restricted(tar.get());
  ::archive_write_set_bytes_per_block(tar.get(), static_cast<int>(kPiece));
  ::archive_write_set_bytes_in_last_block(tar.get(), 512);
  ::archive_write_open(tar.get(), &packer, nullptr, &packMore, nullptr);
  // What would be refused when it is read is not written.
  kcache::LayerRules rules{limits};
  rules.beginLayer();
  for (const NewEntry& one : entries) {
    if (const auto placed = rules.place(ruledEntry(one)); !placed) { return tl::unexpected(placed.error()); }
    if (const Status done = writeEntry(tar.get(), one); !done) { return tl::unexpected(done.error()); }
  }
  if (::archive_write_close(tar.get()) != ARCHIVE_OK || !packer.close()) {
    return fail(Code::Conflict, fmt::format("cannot write the layer: {}", saidBy(tar.get())));
  }
  if (const Status fine = packer.check(rules); !fine) { return tl::unexpected(fine.error()); }
  return packer.written();
}

}  // namespace gs::cacherim
