// Progress: how far the bytes of one thing are, on a line of a terminal that is written over, and gone in the
// end. It comes when a thing takes longer than kEvery, and changes no sooner than after that again. Where
// there is no terminal it writes nothing at all.
// One thread at a time; what it is given outlives it.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "cacherim/image/image_source.h"

namespace gs::mcv {

/// "extracting  12.3 MiB of 45.6 MiB  27%  8.1 MiB/s". `total` 0: not known, and neither is the percentage.
[[nodiscard]] std::string progressText(std::string_view what, std::int64_t bytes, std::int64_t total,
                                       std::int64_t per_second);

class Progress {
 public:
  static constexpr Duration kEvery = std::chrono::milliseconds{250};
  /// `to`: the terminal; nullptr: there is none.
  Progress(const Clock& clock, std::ostream* to) : clock_{clock}, to_{to} {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { end(); }

  /// The thing before has ended.
  void begin(std::string what, std::int64_t total);
  void add(std::size_t bytes);
  /// Nothing is left of the line. A second call does nothing.
  void end();

 private:
  const Clock& clock_;
  std::ostream* const to_;
  std::string what_;
  std::int64_t total_ = 0;
  std::int64_t bytes_ = 0;
  Mono began_{};
  Mono next_{};
  bool is_shown_ = false;
};

/// A source whose blobs are watched.
class WatchedSource final : public cacherim::ImageSource {
 public:
  /// Both outlive it.
  WatchedSource(cacherim::ImageSource& of, Progress& progress) : of_{of}, progress_{progress} {}
  [[nodiscard]] Result<cacherim::FetchedManifest> manifest(const kcache::Reference& reference) override {
    return of_.manifest(reference);
  }
  [[nodiscard]] Status blob(const kcache::Reference& repository, const kcache::Descriptor& blob,
                            const cacherim::ByteSink& sink) override;
  void cancel() override { of_.cancel(); }

 private:
  cacherim::ImageSource& of_;
  Progress& progress_;
};

}  // namespace gs::mcv
