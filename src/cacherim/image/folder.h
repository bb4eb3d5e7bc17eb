// FolderWriter: layers into a folder that somebody holds open, so that nothing of what comes from outside
// leads out of it: each name is opened in the folder before it, and no symbolic link is followed.
// Files get modes 0644 or 0755, folders 0755; owners and times are those of who writes.
#pragma once

#include <optional>
#include <string>

#include "cacherim/image/archive.h"
#include "net/socket.h"

namespace gs::cacherim {

/// Errors: Unavailable, the disk said no; they name the file. One thread; `folder` outlives it.
class FolderWriter final : public LayerTaker {
 public:
  /// `root`: where a consumer has the cache; files that name others are changed for it
  /// (kcache/content/paths.h). nullopt: all stay as they are.
  FolderWriter(int folder, std::optional<std::string> root);
  ~FolderWriter() override;

  [[nodiscard]] Status folder(const kcache::Placed& folder) override;
  [[nodiscard]] Status beginFile(const kcache::Placed& file, std::int64_t size) override;
  [[nodiscard]] Status piece(std::string_view bytes) override;
  [[nodiscard]] Status endFile() override;

  /// The image's manifest.json; "": it has none.
  [[nodiscard]] const std::string& manifest() const { return manifest_; }
  /// Files that were written, and bytes of them as the image has them.
  [[nodiscard]] std::int64_t files() const { return files_; }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

 private:
  [[nodiscard]] Result<net::Fd> open(const std::string& path, bool make) const;
  [[nodiscard]] Status create(const kcache::Placed& file);

  const int folder_;
  const std::optional<std::string> root_;
  kcache::Placed file_;  // that is being written
  net::Fd to_;
  net::Fd above_;           // the folder of the last file, ...
  std::string above_path_;  // ... which is this one
  std::string text_;        // of one that is changed, or the manifest
  bool is_kept_ = false;    // in `text_`
  std::string manifest_;
  std::int64_t files_ = 0;
  std::int64_t bytes_ = 0;
};

}  // namespace gs::cacherim
