// NewFile: a file that gets its name when all of its bytes are on the disk. One that is dropped before that
// leaves nothing.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "net/socket.h"

namespace gs::cacherim {

class NewFile {
 public:
  /// In this folder, which is there. Errors, of all: Unavailable, they name the file.
  [[nodiscard]] static Result<NewFile> in(const std::string& folder);
  NewFile(NewFile&& other) noexcept;
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();

  [[nodiscard]] Status write(std::string_view bytes);
  /// Where its bytes are until it has its name.
  [[nodiscard]] const std::string& path() const { return path_; }
  /// A file of this name is replaced.
  [[nodiscard]] Status publish(const std::string& path);

 private:
  NewFile(std::string path, net::Fd file) : path_{std::move(path)}, file_{std::move(file)} {}
  std::string path_;  // "": it has its name, or was moved from
  net::Fd file_;
};

/// A whole file at once.
[[nodiscard]] Status writeNewFile(const std::string& path, std::string_view bytes);

}  // namespace gs::cacherim
