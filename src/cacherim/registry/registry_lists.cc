// Registry: tags and referrers.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/percent.h"
#include "cacherim/registry/registry.h"
#include "json/value.h"
#include "kcache/trust/bundle.h"
#include "kcache/trust/listed.h"

namespace gs::cacherim {
namespace {

constexpr std::size_t kMostTags = 10'000;
constexpr std::size_t kMostReferrers = 256;
constexpr std::size_t kMostOfReferrers = std::size_t{8} << 20;  // bytes of all pages
constexpr int kMostPages = 100;
constexpr const char* kAnother = "another";  // in place of what one that is no signature says that it is

/// The next page's target, "" after the last. Of this host: a list is not followed to another.
std::string nextPage(const RegistryHost& host, const net::Answer& answer) {
  const auto next = host.placeOf(answer, "Link");
  return next && next->origin() == host.name() ? next->target : std::string{};
}

/// "sha256-<hex>": the tag of the index that stands in for the referrers API.
std::string fallbackTag(const kcache::Digest& subject) { return "sha256-" + std::string{subject.hex()}; }

/// What is kept of one: of what people may write about it at length only what tells what it is.
kcache::Descriptor shortened(const kcache::Descriptor& one) {
  kcache::Descriptor out{one.media_type, one.digest, one.size, {}, {}, one.artifact_type};
  const auto says = one.annotations.find(kcache::trust::kPredicateAnnotation);
  if (says != one.annotations.end()) {
    const bool is_sign = says->second == kcache::trust::kSignPredicate;
    out.annotations.emplace(says->first, is_sign ? says->second : kAnother);
  }
  return out;
}

bool saysTheSame(const kcache::Descriptor& a, const kcache::Descriptor& b) {
  return a.digest == b.digest && a.artifact_type == b.artifact_type && a.annotations == b.annotations;
}

/// How many of them may be signatures: the first so many.
std::size_t mayBeSignatures(const std::vector<kcache::Descriptor>& found) {
  const auto end = std::find_if_not(found.begin(), found.end(), kcache::trust::mayBeSignature);
  return static_cast<std::size_t>(end - found.begin());
}

/// Those that are not there yet. What is no signature takes no room from what may be one.
void addReferrers(Referrers& out, const kcache::Index& index, const std::string& type) {
  for (const kcache::Descriptor& one : index.manifests) {
    const bool is_wanted = type.empty() || one.artifact_type == type;
    const std::size_t signatures = mayBeSignatures(out.found);
    const bool may_be = kcache::trust::mayBeSignature(one);
    const bool has_room = (may_be ? signatures : out.found.size() - signatures) < kMostReferrers;
    if (!is_wanted || (!has_room && !may_be)) { continue; }
    kcache::Descriptor kept = shortened(one);
    const bool is_known = std::any_of(out.found.begin(), out.found.end(),
                                      [&](const auto& other) { return saysTheSame(other, kept); });
    if (is_known) { continue; }
    if (!has_room) {
      out.is_cut = true;
      return;
    }
    const auto at = may_be ? out.found.begin() + static_cast<std::ptrdiff_t>(signatures) : out.found.end();
    out.found.insert(at, std::move(kept));
  }
}

bool mayHelpLater(const Status& status) {
  return !status && (status.error().code == Code::Unavailable || status.error().code == Code::Deadline);
}

/// It has a list, or may have one, that was not read to its end.
bool isTrouble(const Status& status) { return !status && status.error().code != Code::NotFound; }

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

Status Registry::listReferrers(RegistryHost& host, const RegistryAsk& first, RegistryRetry& retry,
                               const std::string& artifact_type, bool is_last, Referrers& out) {
  std::size_t bytes = 0;
  RegistryAsk page = first;
  for (int pages = 0; !page.target.empty(); ++pages) {
    if (pages == kMostPages || bytes >= kMostOfReferrers || mayBeSignatures(out.found) >= kMostReferrers) {
      out.is_cut = true;
      return {};
    }
    const auto answer = ask(host, page, retry, is_last);
    if (!answer) { return tl::unexpected<Error>(answer.error()); }
    const auto index = answer->status == 200 ? kcache::parseReferrers(answer->body)
                                             : fail(Code::Invalid, fmt::format("status {}", answer->status));
    if (!index) { return fail(pages == 0 ? Code::NotFound : Code::Invalid, index.error().message); }
    addReferrers(out, *index, artifact_type);
    bytes += answer->body.size();
    page.target = nextPage(host, *answer);
  }
  return {};
}

Status Registry::listByTag(RegistryHost& host, const kcache::Reference& tag, RegistryRetry& retry,
                           const std::string& artifact_type, Referrers& out) {
  const auto text = manifestFrom(host, tag, retry, true);
  if (!text) { return tl::unexpected<Error>(text.error()); }
  const auto index = kcache::parseReferrers(text->text);
  if (!index) { return fail(Code::Invalid, fmt::format("{}: {}", tag.text(), index.error().message)); }
  addReferrers(out, *index, artifact_type);
  return {};
}

Result<Referrers> Registry::referrers(const kcache::Reference& repository, const kcache::Digest& subject,
                                      const std::string& artifact_type) {
  const auto host = hosts_.origin(repository.registry);
  if (!host) { return tl::unexpected<Error>(host.error()); }
  RegistryAsk list{.target = (*host)->targetOf(repository.repository, "referrers/" + subject.text()),
                   .repository = repository.repository,
                   .any_end = true};
  if (!artifact_type.empty()) { list.target += "?artifactType=" + percentEncode(artifact_type); }
  const kcache::Reference tag{repository.registry, repository.repository, fallbackTag(subject), std::nullopt};
  RegistryRetry retry{context_};
  Referrers out;
  Status by_api = listReferrers(**host, list, retry, artifact_type, false, out);
  if (by_api) { return out; }
  const Status by_tag = listByTag(**host, tag, retry, artifact_type, out);
  if (!by_tag && mayHelpLater(by_api)) {
    by_api = listReferrers(**host, list, retry, artifact_type, true, out);
    if (by_api) { return out; }
  }
  const Status* why = mayHelpLater(by_tag) && !mayHelpLater(by_api) ? &by_tag : &by_api;
  if (!isTrouble(*why)) { why = &by_tag; }
  if (!isTrouble(*why)) { return out; }  // neither way has more
  const Error& error = why->error();
  Error named{error.code,
              fmt::format("referrers of {}@{}: {}", repository.name(), subject.text(), error.message)};
  if (!by_tag && out.found.empty()) { return tl::unexpected<Error>(std::move(named)); }
  out.broken = std::move(named);
  return out;
}

}  // namespace gs::cacherim
