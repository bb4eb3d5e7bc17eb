// An image as a whole, from wherever it comes: found by its name, looked into, unpacked, made.
#pragma once

#include <string>
#include <vector>

#include "cacherim/image/archive.h"
#include "kcache/content/labels.h"

namespace gs::cacherim {

struct Image {
  kcache::Digest digest;  // of its manifest
  kcache::Manifest manifest;
  kcache::ImageConfig config;
};

/// Of an index the image for linux and this architecture is taken, through at most four, one in the other.
/// Errors as ImageSource; Invalid, it is not
/// to be read.
[[nodiscard]] Result<Image> openImage(ImageSource& source, const kcache::Reference& reference,
                                      std::string_view architecture);

/// Its layers are of kinds that are files, and no more bytes than `limits` allow. Error Invalid: which is
/// not.
[[nodiscard]] Status checkLayers(const Image& image, const kcache::LayerLimits& limits);

/// Hands all its layers to `taker`, lowest first. Errors as readLayer(); Invalid: a layer is of a kind that
/// is none of files.
[[nodiscard]] Status readImage(ImageSource& source, const kcache::Reference& reference, const Image& image,
                               const kcache::LayerLimits& limits, LayerTaker& taker);

/// A blob that is no larger than this, as a text. Error Invalid: it is larger.
[[nodiscard]] Result<std::string> blobText(ImageSource& source, const kcache::Reference& repository,
                                           const kcache::Descriptor& blob, std::size_t max_bytes);

/// What an image of one layer is made of.
struct NewImage {
  kcache::Reference name;  // with a tag
  std::string architecture;
  kcache::Labels labels;
  std::vector<NewEntry> entries;
};
struct WrittenImage {
  kcache::Digest digest;  // of its manifest
  kcache::Digest id;      // of its config, by which docker and podman list it
  std::int64_t layer_bytes = 0;
};

}  // namespace gs::cacherim
