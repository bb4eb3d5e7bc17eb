#include "kcache/node/mount_paths.h"

#include <algorithm>

#include "base/clean_path.h"
#include "base/utf8.h"

namespace gs::kcache {

bool isMountPath(std::string_view path) {
  const bool is_plain =
      std::none_of(path.begin(), path.end(), [](unsigned char c) { return c < ' ' || c == 0x7F; });
  return is_plain && isUtf8(path) && path.size() <= kMostOfAMountPath && isCleanPath(path);
}

std::string staticPodOf(std::string_view ns, std::string_view name, std::string_view uid) {
  return std::string{ns}.append("/").append(name).append("/").append(uid);
}

}  // namespace gs::kcache
