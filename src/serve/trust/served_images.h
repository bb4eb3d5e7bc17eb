// ServedImages: which manifests registries have given lately, by digest, and to whom. Before bytes that a
// node has already are given to another cache, the registry that this cache names has to give their
// manifest to whoever the node is there (cacherim/keeper/fetch.h); a hundred caches of one image need one
// request for that.
//
// A name is remembered for Options::age, so that what a registry has withdrawn is not given for longer, and
// for the credentials that it was given to: other ones, of a Secret that changed, ask again. Only a yes is
// remembered. Of too many names the oldest is forgotten. Nothing of a credential is kept but a hash. Any
// thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "cacherim/registry/credentials.h"
#include "kcache/image/reference.h"

namespace gs::serve {

class ServedImages {
 public:
  struct Options {
    Duration age = std::chrono::minutes{10};
    std::size_t most = 4096;
  };
  explicit ServedImages(Options options) : options_{options} {}

  /// What an image that has a digest is remembered by.
  [[nodiscard]] static std::string keyOf(const kcache::Reference& image,
                                         const cacherim::Credentials& credentials);
  void add(const std::string& key, Mono now) GS_EXCLUDES(mutex_);
  [[nodiscard]] bool has(const std::string& key, Mono now) const GS_EXCLUDES(mutex_);

 private:
  const Options options_;
  mutable Mutex mutex_;
  std::map<std::string, Mono> when_ GS_GUARDED_BY(mutex_);
};

}  // namespace gs::serve
