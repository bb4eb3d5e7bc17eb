// JSON text read forward once, without making anything of what is not asked for: for large bodies of which
// little is used.
//
//   Scanner   reads texts, one after the other; keeps memory for the largest it has seen. One thread
//   Cursor    a value of the text being read; good inside the callback that it was given to, and for one use:
//             members(), items(), raw(), str(), or nothing, which skips it; a value of another type is not
//             used by asking
//
// What is read is checked; of what is skipped only that its brackets and quotes are balanced (raw() is
// skipped text, too: hand it to json::parse() or Document::read() to have it checked). Depth is not limited:
// nothing here recurses.
// A repeated key is given as often as it stands. Where a View would do (document.h), use that.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gs::json {

/// How much a text must be able to grow without moving, so that it can be read where it is.
inline constexpr std::size_t kScanSlack = 64;

class Cursor {
 public:
  /// Of a value. The key is good until the next one.
  using Member = std::function<void(std::string_view key, Cursor& value)>;
  using Item = std::function<void(Cursor& value)>;

  explicit Cursor(void* place) : place_{place} {}  // for scanner.cc
  [[nodiscard]] bool isNull();
  /// False, and nothing is called: it is no object (no array).
  bool members(const Member& each);
  bool items(const Item& each);
  /// After members() or items() said true: the bytes of the value, in the text.
  [[nodiscard]] std::string_view seen();
  /// The value's own bytes, in the text, without looking at it.
  [[nodiscard]] std::string_view raw();
  /// Good until the scan ends. nullopt: it is no string.
  [[nodiscard]] std::optional<std::string_view> str();

 private:
  void* place_;
};

class Scanner {
 public:
  Scanner();
  ~Scanner();
  Scanner(Scanner&&) noexcept;
  Scanner& operator=(Scanner&&) noexcept;

  /// `read` sees the text's value. Error Invalid: the text is no JSON as far as it was looked at, or
  /// something follows its value; the callbacks may have been called for the part before. `text` is moved in
  /// memory when its capacity is less than kScanSlack over its size.
  [[nodiscard]] Status scan(std::string& text, const Cursor::Item& read);

 private:
  struct Library;
  std::unique_ptr<Library> library_;
};

}  // namespace gs::json
