// Reference: the name of an image, "quay.io/gkm/vector-add-cache:rocm" or "...@sha256:<hex>"
// (distribution/reference grammar, which docker, podman and Kubernetes share).
//
// [registry/]repository[:tag][@digest]. The first part is a registry when it has a '.' or ':' or is
// "localhost"; else the registry is docker.io, where a repository of one part lies in "library/". A port is
// part of the registry, never a tag ("host:5000/repo" has no tag). With neither tag nor digest the tag is
// "latest". With a digest the tag says nothing any more; it is kept for people.
// One registry has one name, since policies compare names: in lower case, without the port 443, and docker.io
// where people write one of its hosts.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kcache/image/digest.h"

namespace gs::kcache {

struct Reference {
  std::string registry;    // "quay.io", "localhost:5000"; never ""
  std::string repository;  // "gkm/vector-add-cache"
  std::string tag;         // "" only with a digest
  std::optional<Digest> digest;

  /// As people write it, with the registry.
  [[nodiscard]] std::string text() const;
  /// "registry/repository"
  [[nodiscard]] std::string name() const { return registry + '/' + repository; }
  /// The same repository at this digest, without a tag: what a cache is pinned to.
  [[nodiscard]] Reference pinned(const Digest& to) const { return {registry, repository, "", to}; }

  friend bool operator==(const Reference&, const Reference&) = default;
};

/// The one name of a registry that is written host or host:port; of part of one (a glob) too.
[[nodiscard]] std::string registryName(std::string_view written);
/// Error Invalid: names the text, the part of it that is wrong, and what would be right.
[[nodiscard]] Result<Reference> parseReference(std::string_view text);
/// As mcv's flags are read: a registry and a tag or digest have to be there.
[[nodiscard]] Result<Reference> parseStrictReference(std::string_view text);

}  // namespace gs::kcache
