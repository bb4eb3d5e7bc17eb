// A cache's folder as what an image is made of. Files and folders go in as they are; names that begin with
// '.' are left out, since no cache has such. No program is called, nothing is staged: files are read from
// where they lie, once to look into them and once to write them.
#pragma once

#include <string>

#include "cacherim/image/image.h"
#include "kcache/content/detect.h"
#include "kcache/layer/rules.h"

namespace gs::mcv {

struct Packed {
  kcache::DetectedCache cache;
  cacherim::NewImage image;  // its entries read the folder
};

/// Errors: NotFound, no such folder, or no cache in it; Invalid, something in it is neither a file nor a
/// folder, or the cache lies at another level, or it has more files and folders, or longer paths in all, than
/// nodes take (`limits`; said before anything is written); Unavailable.
[[nodiscard]] Result<Packed> pack(const std::string& folder, const kcache::Reference& name,
                                  const kcache::LayerLimits& limits = {});

}  // namespace gs::mcv
