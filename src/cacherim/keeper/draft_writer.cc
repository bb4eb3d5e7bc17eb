#include "cacherim/keeper/draft_writer.h"

#include <fmt/format.h>

namespace gs::cacherim {
namespace {

Status checkPath(const std::string& path) {
  if (isStorePath(path)) { return {}; }
  return fail(Code::Invalid, fmt::format("layer entry '{}': a name too long, too deep, or no UTF-8", path));
}

}  // namespace

Status DraftWriter::folder(const kcache::Placed& folder) {
  if (folder.path.empty()) { return {}; }  // the root
  Status fine = checkPath(folder.path);
  return fine ? addFolder(folder.path) : fine;
}

/// And those above it, until there is one that was there.
Status DraftWriter::addFolder(std::string_view path) {
  std::uint64_t added = 0;
  for (; !path.empty() && !folders_.contains(path); ++added) {
    folders_.emplace(path);
    const std::size_t slash = path.rfind('/');
    path = path.substr(0, slash == std::string_view::npos ? 0 : slash);
  }
  return added == 0 ? Status{} : fits(Shares::roomOf(0, added));
}

Status DraftWriter::beginFile(const kcache::Placed& file, std::int64_t size) {
  is_kept_ = file.where == kcache::Placed::Where::Cache;
  if (!is_kept_) { return {}; }
  next_ = Piece{.begins = file};
  Status out = checkPath(file.path);
  if (const auto slash = file.path.rfind('/'); out && slash != std::string::npos) {
    out = addFolder(std::string_view{file.path}.substr(0, slash));
  }
  return out ? fits(Shares::roomOf(static_cast<std::uint64_t>(size), 1)) : out;
}

Status DraftWriter::piece(std::string_view bytes) {
  if (!is_kept_) { return {}; }
  if (!next_.bytes.empty()) {
    if (Status out = handOn(); !out) { return out; }
  }
  next_.bytes = bytes;
  return {};
}

Status DraftWriter::endFile() {
  if (!is_kept_) { return {}; }
  next_.ends = true;
  return handOn();
}

Result<LayerRecord> DraftWriter::finish(const kcache::Digest& layer) {
  if (Status out = end(); !out) { return because(out.error()); }
  return LayerRecord{layer, {folders_.begin(), folders_.end()}, std::move(files_)};
}

Status DraftWriter::handOn() {
  if (pieces_.push(std::exchange(next_, {}))) { return {}; }
  return end();
}

Status DraftWriter::end() {
  pieces_.close();
  worker_.join();
  return status_;
}

// ---- the thread that writes

void DraftWriter::writeAll() {
  while (auto piece = pieces_.pop()) {
    status_ = write(*piece);
    if (status_) { continue; }
    pieces_.close();  // nobody unpacks for a disk that says no
    return;
  }
}

Status DraftWriter::write(const Piece& piece) {
  if (piece.begins) {
    auto begun = draft_.begin(piece.begins->is_executable);
    if (!begun) { return because(begun.error()); }
    file_.emplace(*std::move(begun));
    path_ = piece.begins->path;
  }
  if (Status written = draft_.write(*file_, piece.bytes); !written) { return written; }
  if (!piece.ends) { return {}; }
  auto file = draft_.end(*file_);
  if (!file) { return because(file.error()); }
  files_.insert_or_assign(path_, *std::move(file));
  return {};
}

}  // namespace gs::cacherim
