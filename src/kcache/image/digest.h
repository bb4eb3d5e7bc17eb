// Digest: the name of content by its bytes, as OCI writes it: "sha256:" and 64 lower-case hex digits (OCI
// image spec 1.1, "Content Descriptors"). Other algorithms are refused: nobody uses them, and every digest
// here is also a file name of the store. A digest that was parsed is safe in a path.
#pragma once

#include <compare>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gs::kcache {

class Digest {
 public:
  /// Error Invalid: names the text and what a digest looks like.
  [[nodiscard]] static Result<Digest> parse(std::string_view text);
  [[nodiscard]] static Digest of(std::string_view bytes);

  /// "sha256:<hex>"
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] std::string_view hex() const { return std::string_view{text_}.substr(kPrefix.size()); }

  static constexpr std::string_view kPrefix = "sha256:";

  friend auto operator<=>(const Digest&, const Digest&) = default;

 private:
  explicit Digest(std::string text) : text_{std::move(text)} {}
  std::string text_;
};

}  // namespace gs::kcache
