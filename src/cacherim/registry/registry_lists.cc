// Registry: tags and referrers.
#include <fmt/format.h>

#include <algorithm>

#include "base/percent.h"
#include "cacherim/registry/registry.h"
#include "json/value.h"

namespace gs::cacherim {
namespace {

constexpr std::size_t kMostTags = 10'000;
constexpr std::size_t kMostReferrers = 256;
constexpr std::size_t kMostOfReferrers = std::size_t{8} << 20;  // bytes of all pages
constexpr int kMostPages = 100;

/// The next page's target, "" after the last. Of this host: a list is not followed to another.
std::string nextPage(const RegistryHost& host, const net::Answer& answer) {
  const auto next = host.placeOf(answer, "Link");
  return next && next->origin() == host.name() ? next->target : std::string{};
}

/// "sha256-<hex>": the tag of the index that stands in for the referrers API.
std::string fallbackTag(const kcache::Digest& subject) { return "sha256-" + std::string{subject.hex()}; }

/// Those of one artifact type that are not there yet, without what people may write about them at length.
void addReferrers(std::vector<kcache::Descriptor>& out, const kcache::Index& index, const std::string& type) {
  for (const kcache::Descriptor& one : index.manifests) {
    const bool wanted = type.empty() || one.artifact_type == type;
    const bool known =
        std::any_of(out.begin(), out.end(), [&](const auto& other) { return other.digest == one.digest; });
    if (wanted && !known && out.size() < kMostReferrers) {
      out.push_back({one.media_type, one.digest, one.size, {}, {}, one.artifact_type});
    }
  }
}

Result<kcache::Index> readIndex(const std::string& text, const std::string& what) {
  auto parsed = kcache::parseManifest(text, kcache::media::kOciIndex);
  if (!parsed) { return fail(Code::Invalid, fmt::format("{}: {}", what, parsed.error().message)); }
  if (auto* index = std::get_if<kcache::Index>(&*parsed)) { return std::move(*index); }
  return fail(Code::Invalid, what + ": it is no index");
}

}  // namespace

Result<std::vector<std::string>> Registry::tags(const kcache::Reference& repository) {
  const auto host = hosts_.origin(repository.registry);
  if (!host) { return tl::unexpected<Error>(host.error()); }
  const std::string what = "tags of " + repository.name();
  RegistryRetry retry{context_};
  std::vector<std::string> out;
  std::string target = (*host)->targetOf(repository.repository, "tags/list?n=1000");
  for (int page = 0; page < kMostPages && !target.empty() && out.size() < kMostTags; ++page) {
    const auto answer = ask(**host, {.target = target, .repository = repository.repository}, retry, true);
    if (!answer) { return tl::unexpected<Error>(answer.error()); }
    if (answer->status == 404) { return fail(Code::NotFound, what + ": there is no such repository"); }
    const auto list = kcache::parseRegistryJson(answer->body);
    if (answer->status != 200 || !list) {
      const std::string why = list ? "" : ": " + list.error().message;
      return fail(Code::Invalid, fmt::format("{}: status {}, and no list{}", what, answer->status, why));
    }
    for (const json::Value& tag : (*list)["tags"].items()) {
      if (kcache::parseReference(repository.name() + ':' + std::string{tag.str()}) &&
          out.size() < kMostTags) {
        out.emplace_back(tag.str());
      }
    }
    target = nextPage(**host, *answer);
  }
  return out;
}

Result<std::vector<kcache::Descriptor>> Registry::referrers(const kcache::Reference& repository,
                                                            const kcache::Digest& subject,
                                                            const std::string& artifact_type) {
  const auto host = hosts_.origin(repository.registry);
  if (!host) { return tl::unexpected<Error>(host.error()); }
  const std::string what = fmt::format("referrers of {}@{}", repository.name(), subject.text());
  RegistryRetry retry{context_};
  std::vector<kcache::Descriptor> out;
  std::size_t bytes = 0;
  std::string target = (*host)->targetOf(repository.repository, "referrers/" + subject.text());
  if (!artifact_type.empty()) { target += "?artifactType=" + percentEncode(artifact_type); }
  for (int page = 0;
       page < kMostPages && !target.empty() && out.size() < kMostReferrers && bytes < kMostOfReferrers;
       ++page) {
    const auto answer = ask(**host, {.target = target, .repository = repository.repository}, retry, true);
    if (!answer) { return tl::unexpected<Error>(answer.error()); }
    if (answer->status != 200 && page == 0) {  // a registry before version 1.1 of the API
      kcache::Reference tag{repository.registry, repository.repository, fallbackTag(subject), std::nullopt};
      const auto index = manifestFrom(**host, tag, retry, true);
      if (!index && index.error().code == Code::NotFound) { return out; }
      if (!index) { return tl::unexpected<Error>(index.error()); }
      const auto parsed = readIndex(index->text, what);
      if (!parsed) { return tl::unexpected<Error>(parsed.error()); }
      addReferrers(out, *parsed, artifact_type);
      return out;
    }
    if (answer->status != 200) {
      return fail(Code::Invalid, fmt::format("{}: status {}", what, answer->status));
    }
    const auto parsed = readIndex(answer->body, what);
    if (!parsed) { return tl::unexpected<Error>(parsed.error()); }
    addReferrers(out, *parsed, artifact_type);
    bytes += answer->body.size();
    target = nextPage(**host, *answer);
  }
  return out;
}

}  // namespace gs::cacherim
