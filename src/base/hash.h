// SHA-256, for names that must fit a length (leases, labels) and for content digests.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace gs {

/// 64 lower-case hex digits.
[[nodiscard]] std::string sha256Hex(std::string_view bytes);

/// The same of bytes that come piece by piece.
class Sha256 {
 public:
  Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  ~Sha256();

  void update(std::string_view bytes);
  /// Of all bytes so far; more may come after.
  [[nodiscard]] std::string hex() const;

 private:
  struct Library;
  std::unique_ptr<Library> library_;
};

}  // namespace gs
