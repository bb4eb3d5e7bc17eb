// Writing a cache to a folder, so that nothing of what comes from outside leads out of it: each name is
// opened in the folder before it, and no symbolic link is followed.
//
//   FolderWriter   layers into a folder that somebody holds open
//   FreshFolder    layers into a folder that gets its name when all of it is on the disk
//
// Files get modes 0644 or 0755, folders 0755; owners and times are those of who writes.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cacherim/archive.h"
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
  std::string text_;      // of one that is changed, or the manifest
  bool is_kept_ = false;  // in `text_`
  std::string manifest_;
  std::int64_t files_ = 0;
  std::int64_t bytes_ = 0;
};

class FreshFolder {
 public:
  /// To become `target`, beside which it lies meanwhile under another name; folders above are made.
  /// Error Unavailable: it cannot be made.
  [[nodiscard]] static Result<FreshFolder> beside(const std::string& target);
  FreshFolder(FreshFolder&& other) noexcept;
  FreshFolder& operator=(FreshFolder&&) = delete;
  /// What was not published goes.
  ~FreshFolder();

  [[nodiscard]] int get() const { return folder_.get(); }
  /// Where it lies until it is published.
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Brings all of it to the disk and gives it its name. Where there is a folder with something in it, what
  /// is in this one comes in there, each folder that is new and each file by one rename; files of the same
  /// names are replaced, others stay. Errors: Unavailable; Conflict, a file is in the way of a folder.
  [[nodiscard]] Status publish();

 private:
  FreshFolder(std::string path, std::string target, net::Fd folder)
      : path_{std::move(path)}, target_{std::move(target)}, folder_{std::move(folder)} {}
  std::string path_;  // "": published or moved from
  std::string target_;
  net::Fd folder_;
};

}  // namespace gs::cacherim
