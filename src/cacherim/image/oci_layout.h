// Images in a folder in OCI's layout (image spec 1.1, "Image Layout"): index.json, blobs/sha256/<hex>.
// skopeo and podman call such a place oci:FOLDER; `docker save` writes one too.
//
// An image is found by its digest, or by a name that its descriptor in index.json is given:
// io.containerd.image.name is the whole name, org.opencontainers.image.ref.name the tag, or with some tools
// the whole name. A folder with a single image, that has no name, has it for every name.
#pragma once

#include <atomic>
#include <string>

#include "cacherim/image/image.h"

namespace gs::cacherim {

class OciLayout final : public ImageSource {
 public:
  explicit OciLayout(std::string folder) : folder_{std::move(folder)} {}

  /// Error NotFound: names what there is.
  [[nodiscard]] Result<FetchedManifest> manifest(const kcache::Reference& reference) override;
  [[nodiscard]] Status blob(const kcache::Reference& repository, const kcache::Descriptor& blob,
                            const ByteSink& sink) override;
  void cancel() override { is_cancelled_ = true; }
  /// Where the file of a blob is, or would be.
  [[nodiscard]] std::string pathOf(const kcache::Digest& digest) const;

 private:
  [[nodiscard]] Result<FetchedManifest> read(const kcache::Digest& digest,
                                             const std::string& media_type) const;

  const std::string folder_;
  std::atomic<bool> is_cancelled_ = false;
};

/// Adds the image to the folder, which is made when it is not there; one of the same name loses the name.
/// Its layer is gzip. Errors as writeLayer(); Unavailable, the disk said no; Invalid, what is in the folder
/// is no OCI layout.
[[nodiscard]] Result<WrittenImage> writeOciLayout(const NewImage& image, const std::string& folder);

}  // namespace gs::cacherim
