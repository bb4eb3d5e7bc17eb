// RegistryWriter: puts images into a registry (`mcv --push`), by the distribution API. Never into a mirror.
// What the registry has is not sent again. A blob whose upload was lost is sent again from its beginning, a
// manifest too: both are named by their digest, so twice is once. Blocking; one thread, cancel() from any.
#pragma once

#include <functional>
#include <string>

#include "cacherim/registry/registry.h"

namespace gs::cacherim {

/// Reads a blob from its beginning: called anew for each time that it is sent.
using OpenBlob = std::function<std::function<std::size_t(char* to, std::size_t room)>()>;

class RegistryWriter {
 public:
  /// `clock` and `pause` outlive this.
  RegistryWriter(RegistryOptions options, const Clock& clock, Rng rng, Pause& pause);

  /// `mount_from`: another repository of the registry that may have it, so that nothing is sent; or "".
  /// Errors: Invalid (not allowed; refused; not what its digest says), Unavailable, Deadline.
  [[nodiscard]] Status blob(const kcache::Reference& repository, const kcache::Descriptor& blob,
                            const OpenBlob& open, const std::string& mount_from);
  /// Under the tag of `reference`, or its digest when it has one. All that it names has to be there.
  [[nodiscard]] Status manifest(const kcache::Reference& reference, const std::string& media_type,
                                const std::string& text);
  void cancel();
  /// Bytes of blobs that were sent.
  [[nodiscard]] std::uint64_t bytesSent() const { return bytes_sent_; }

 private:
  /// One try of all of it.
  Reply blobOnce(RegistryHost& host, const kcache::Reference& repository, const kcache::Descriptor& blob,
                 const OpenBlob& open, const std::string& mount_from, Mono deadline);

  RegistryContext context_;
  RegistryHosts hosts_;
  std::uint64_t bytes_sent_ = 0;
};

}  // namespace gs::cacherim
