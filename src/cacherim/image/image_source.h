// ImageSource: where the parts of images come from: a registry (registry.h), a folder in OCI layout
// (oci_layout.h), an archive of `docker save` (docker_archive.h).
//
// Every byte that is handed out was checked, or will be before the call returns well: a manifest is what its
// digest says; blob() streams and fails at the end when the digest or the size differs, so a taker keeps what
// it has written aside until then. Blocking; from one thread at a time, cancel() from any.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kcache/image/manifest.h"
#include "kcache/image/reference.h"

namespace gs::cacherim {

/// Takes a piece; false: no more is wanted, and the call ends with Code::Conflict.
using ByteSink = std::function<bool(std::string_view piece)>;

struct FetchedManifest {
  kcache::Digest digest;   // of `text`
  std::string media_type;  // as the source said it; "" not said
  std::string text;
};

class ImageSource {
 public:
  virtual ~ImageSource() = default;

  /// The manifest or index of a name. Errors: NotFound; Unavailable (trying later may help); Invalid (it is
  /// not what its digest says, or too large); Deadline.
  [[nodiscard]] virtual Result<FetchedManifest> manifest(const kcache::Reference& reference) = 0;

  /// A blob of the same repository, piece by piece from its beginning. Errors as above; Conflict when the
  /// sink said no.
  [[nodiscard]] virtual Status blob(const kcache::Reference& repository, const kcache::Descriptor& blob,
                                    const ByteSink& sink) = 0;
  /// Whether it has given the manifest of that digest to whom we are: asked of an image whose bytes are here
  /// already, before somebody else gets them. May be remembered for a while. Errors as manifest().
  [[nodiscard]] virtual Status serves(const kcache::Reference& image) {
    const auto manifest = this->manifest(image);
    if (!manifest) { return tl::unexpected<Error>(manifest.error()); }
    return {};
  }
  /// Ends what is under way, for good.
  virtual void cancel() = 0;
};

}  // namespace gs::cacherim
