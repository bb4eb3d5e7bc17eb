#include "mcv/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <utility>

namespace gs::mcv {
namespace {

constexpr const char* kClear = "\r\x1b[K";  // to the line's beginning, and nothing behind it

std::string sizeText(std::int64_t bytes) {
  if (bytes < 1024) { return fmt::format("{} B", bytes); }
  auto size = static_cast<double>(bytes);
  const char* unit = "";
  for (const char* next : {"KiB", "MiB", "GiB", "TiB"}) {
    if (size < 1024) { break; }
    size /= 1024;
    unit = next;
  }
  return fmt::format("{:.1f} {}", size, unit);
}

}  // namespace

std::string progressText(std::string_view what, std::int64_t bytes, std::int64_t total,
                         std::int64_t per_second) {
  std::string out = fmt::format("{}  {}", what, sizeText(bytes));
  if (total > 0) {
    // Bytes that were sent again count again.
    const auto percent =
        static_cast<int>(100 * static_cast<double>(std::min(bytes, total)) / static_cast<double>(total));
    out += fmt::format(" of {}  {}%", sizeText(total), percent);
  }
  if (per_second > 0) { out += fmt::format("  {}/s", sizeText(per_second)); }
  return out;
}

void Progress::begin(std::string what, std::int64_t total) {
  end();
  what_ = std::move(what);
  total_ = total;
  bytes_ = 0;
  began_ = clock_.now().mono;
  next_ = began_ + kEvery;
}

void Progress::add(std::size_t bytes) {
  bytes_ += static_cast<std::int64_t>(bytes);
  if (to_ == nullptr) { return; }
  const Mono now = clock_.now().mono;
  if (now < next_) { return; }
  next_ = now + kEvery;
  const double seconds = std::chrono::duration<double>{now - began_}.count();
  const auto rate = static_cast<std::int64_t>(static_cast<double>(bytes_) / seconds);
  *to_ << kClear << progressText(what_, bytes_, total_, rate) << std::flush;
  is_shown_ = true;
}

void Progress::end() {
  if (std::exchange(is_shown_, false)) { *to_ << kClear << std::flush; }
}

Status WatchedSource::blob(const kcache::Reference& repository, const kcache::Descriptor& blob,
                           const cacherim::ByteSink& sink) {
  return of_.blob(repository, blob, [&](std::string_view piece) {
    progress_.add(piece.size());
    return sink(piece);
  });
}

}  // namespace gs::mcv
