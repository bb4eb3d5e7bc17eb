// Images in a file as `docker save` and `podman save` write it: a tar file with manifest.json, which names
// for each image its config, its layers and its tags. skopeo calls such a place docker-archive:FILE.
//
// It has no manifests of images: one of docker's schema 2 is made of what is there, so an image has a digest
// here that it has nowhere else. Layers may be plain or compressed, or links to one another; a plain one has
// to have the digest that the config says, and a config the one that is its name.
//
// The file is read several times, from its beginning; manifest() comes before blob().
#pragma once

#include <atomic>
#include <map>
#include <string>
#include <vector>

#include "cacherim/image/image.h"

namespace gs::cacherim {

class DockerArchive final : public ImageSource {
 public:
  explicit DockerArchive(std::string file) : file_{std::move(file)} {}

  /// Error NotFound: names what there is. A file with a single image that has no tag has it for every name.
  [[nodiscard]] Result<FetchedManifest> manifest(const kcache::Reference& reference) override;
  [[nodiscard]] Status blob(const kcache::Reference& repository, const kcache::Descriptor& blob,
                            const ByteSink& sink) override;
  void cancel() override { is_cancelled_ = true; }

 private:
  /// Of one image, in manifest.json.
  struct Saved {
    std::string config;
    std::vector<std::string> tags;
    std::vector<std::string> layers;
  };
  [[nodiscard]] Status list();
  [[nodiscard]] Status readMember(const std::string& name, const ByteSink& sink) const;
  [[nodiscard]] Result<std::string> textOf(const std::string& name) const;
  [[nodiscard]] Result<std::string> realName(const std::string& name) const;
  [[nodiscard]] Result<std::vector<Saved>> images() const;
  [[nodiscard]] Result<FetchedManifest> manifestOf(const Saved& image);
  [[nodiscard]] Result<kcache::Descriptor> layerOf(const std::string& name);

  const std::string file_;
  std::map<std::string, std::string> members_;   // by name: what it is a link to, "" a file
  std::map<kcache::Digest, std::string> names_;  // of blobs that a manifest had
  std::atomic<bool> is_cancelled_ = false;
};

/// Writes the file anew; one of the same name is replaced. The layer is plain, as docker writes it. Errors as
/// writeLayer(); Unavailable, the disk said no.
[[nodiscard]] Result<WrittenImage> writeDockerArchive(const NewImage& image, const std::string& file);

}  // namespace gs::cacherim
