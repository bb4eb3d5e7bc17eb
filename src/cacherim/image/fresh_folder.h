// FreshFolder: a folder in which something is made that is to be seen only when all of it is there, or not at
// all.
//
// It lies in the folder that it is for, or beside it while there is none, under a hidden name that says what
// it is. So it needs no more rights than that folder gives, and publishing is renaming: also where the folder
// is a mount. A process holds a lock on its own. What a killed one left behind, which nobody holds, goes when
// the next begins there.
// Errors: Unavailable, the disk said no; they name the folder. One thread.
#pragma once

#include <string>

#include "cacherim/disk/disk.h"

namespace gs::cacherim {

class FreshFolder {
 public:
  /// To be published as `target`. Folders above it are made. Behind a link is what it leads to.
  [[nodiscard]] static Result<FreshFolder> towards(const std::string& target, Disk disk = Disk{});
  /// In `folder`, which is there; it is never published. Nobody but its owner may look into it.
  [[nodiscard]] static Result<FreshFolder> in(const std::string& folder, Disk disk = Disk{});
  FreshFolder(FreshFolder&& other) noexcept;
  FreshFolder& operator=(FreshFolder&&) = delete;
  /// What was not published goes.
  ~FreshFolder();

  [[nodiscard]] int get() const { return fresh_.get(); }
  /// Where it lies until it is published.
  [[nodiscard]] std::string path() const { return above_path_ + '/' + name_; }
  /// Brings all of it to the disk and gives it its name. In a folder that is there already each file and
  /// each folder that is new comes by one rename; files of the same names are replaced, others stay. That
  /// nothing is in the way is seen before the first of them; where the disk says no after that, those that
  /// came are whole. Conflict: a file is in the way of a folder, or the other way round.
  [[nodiscard]] Status publish();

 private:
  FreshFolder(std::string above_path, Fd above, Disk disk)
      : above_path_{std::move(above_path)}, above_{std::move(above)}, disk_{std::move(disk)} {}
  [[nodiscard]] Status begin();
  [[nodiscard]] Result<bool> tryToBegin();
  [[nodiscard]] Status publishInto(int folder);

  std::string above_path_;  // the folder in which it lies
  Fd above_;
  Disk disk_;
  std::string target_;   // for people
  std::string becomes_;  // its name then, beside it; "": what is in it comes into the folder in which it lies
  std::string name_;     // hidden; "": it has its own, or was moved from
  Fd fresh_;
};

}  // namespace gs::cacherim
