// A shared library that is loaded by name while the process runs, and left when this ends: what it belongs to
// need not be installed, and nothing of ours is linked with it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <utility>

#include "base/result.h"

namespace gs::noderim {

class Library {
 public:
  /// Error NotFound: no such library, or it cannot be loaded.
  [[nodiscard]] static Result<Library> open(const std::string& name);
  Library(Library&& other) noexcept : handle_{std::exchange(other.handle_, nullptr)} {}
  Library& operator=(Library&&) = delete;
  ~Library();

  /// The first of the names that it has; `into` stays as it is where it has none.
  template <class Function>
  void find(Function& into, std::initializer_list<const char*> names) const {
    for (const char* name : names) {
      void* const symbol = symbolNamed(name);
      if (symbol == nullptr) { continue; }
      into = reinterpret_cast<Function>(symbol);
      return;
    }
  }

 private:
  explicit Library(void* handle) : handle_{handle} {}
  [[nodiscard]] void* symbolNamed(const char* name) const;

  void* handle_;
};

/// What a library wrote into a buffer, up to its end.
template <std::size_t size>
std::string textOf(const std::array<char, size>& from) {
  return {from.begin(), std::find(from.begin(), from.end(), '\0')};
}

/// A C function of a library, or none; without one the answer is `missing`.
template <int missing, class... Args>
struct LibraryCall {
  int (*function)(Args...) = nullptr;
  int operator()(Args... args) const { return function == nullptr ? missing : function(args...); }
};

}  // namespace gs::noderim
