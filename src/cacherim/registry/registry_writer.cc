#include "cacherim/registry/registry_writer.h"

#include <fmt/format.h>

#include "base/percent.h"

namespace gs::cacherim {
namespace {

Reply refusePush(Code code, std::string message) {
  return tl::unexpected<Refusal>(Refusal{{code, std::move(message)}});
}

}  // namespace

RegistryWriter::RegistryWriter(RegistryOptions options, const Clock& clock, Rng rng, Pause& pause)
    : context_{std::move(options), clock, rng, pause}, hosts_{context_} {}

void RegistryWriter::cancel() {
  context_.pause.cancel();
  hosts_.cancel();
}

Reply RegistryWriter::blobOnce(RegistryHost& host, const kcache::Reference& repository,
                               const kcache::Descriptor& blob, const OpenBlob& open,
                               const std::string& mount_from, Mono deadline) {
  const std::string& name = repository.repository;
  const std::string what = fmt::format("blob {} to {}", blob.digest.text(), repository.name());
  RegistryAsk ask{.method = "HEAD",
                  .target = host.targetOf(name, "blobs/" + blob.digest.text()),
                  .repository = name,
                  .rights = "pull,push"};
  Reply reply = host.once(ask, deadline);
  if (!reply || reply->status == 200) { return reply; }
  ask.method = "POST";
  ask.target = host.targetOf(name, "blobs/uploads/");
  if (!mount_from.empty()) {
    ask.target +=
        fmt::format("?mount={}&from={}", percentEncode(blob.digest.text()), percentEncode(mount_from));
  }
  reply = host.once(ask, deadline);
  if (!reply || reply->status == 201) { return reply; }
  auto place = host.placeOf(*reply, "Location");
  if (reply->status != 202 || !place) {
    return refusePush(Code::Invalid,
                      fmt::format("{}: the registry takes no upload: status {}", what, reply->status));
  }
  place->target += (place->target.find('?') == std::string::npos ? '?' : '&');
  place->target += "digest=" + percentEncode(blob.digest.text());
  ask.method = "PUT";
  ask.at = *place;
  ask.headers = {{"Content-Type", "application/octet-stream"}};
  ask.upload = [&] {
    return net::Upload{static_cast<std::uint64_t>(blob.size),
                       [this, read = open()](char* to, std::size_t room) mutable {
                         const std::size_t put = read(to, room);
                         bytes_sent_ += put;
                         return put;
                       }};
  };
  reply = host.once(ask, deadline);
  if (!reply || reply->status == 201) { return reply; }
  return refusePush(Code::Invalid,
                    fmt::format("{}: the registry refuses it: status {}", what, reply->status));
}

Status RegistryWriter::blob(const kcache::Reference& repository, const kcache::Descriptor& blob,
                            const OpenBlob& open, const std::string& mount_from) {
  const auto host = hosts_.origin(repository.registry);
  if (!host) { return tl::unexpected<Error>(host.error()); }
  RegistryRetry retry{context_};
  retry.begin();
  while (true) {
    const Reply reply = blobOnce(**host, repository, blob, open, mount_from, retry.deadline());
    if (reply) { return {}; }
    if (auto end = retry.failed(reply.error(), false)) { return tl::unexpected<Error>(std::move(*end)); }
  }
}

Status RegistryWriter::manifest(const kcache::Reference& reference, const std::string& media_type,
                                const std::string& text) {
  const auto host = hosts_.origin(reference.registry);
  if (!host) { return tl::unexpected<Error>(host.error()); }
  if (reference.digest && *reference.digest != kcache::Digest::of(text)) {
    return fail(Code::Invalid, fmt::format("{}: the manifest has another digest", reference.text()));
  }
  const RegistryAsk ask{
      .method = "PUT",
      .target = (*host)->targetOf(
          reference.repository, "manifests/" + (reference.digest ? reference.digest->text() : reference.tag)),
      .headers = {{"Content-Type", media_type}},
      .body = text,
      .repository = reference.repository,
      .rights = "pull,push"};
  RegistryRetry retry{context_};
  retry.begin();
  while (true) {
    const Reply reply = (*host)->once(ask, retry.deadline());
    if (reply && reply->status / 100 == 2) { return {}; }
    if (reply) {
      return fail(Code::Invalid, fmt::format("{}: the registry refuses the manifest: status {}",
                                             reference.text(), reply->status));
    }
    if (auto end = retry.failed(reply.error(), false)) { return tl::unexpected<Error>(std::move(*end)); }
  }
}

}  // namespace gs::cacherim
