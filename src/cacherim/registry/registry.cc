#include "cacherim/registry/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include "base/hash.h"
#include "base/percent.h"

namespace gs::cacherim {
namespace {

const char* const kAccept =
    "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, "
    "application/vnd.docker.distribution.manifest.v2+json, "
    "application/vnd.docker.distribution.manifest.list.v2+json";

std::optional<std::uint64_t> parseNumber(std::string_view text) {
  std::uint64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional{out} : std::nullopt;
}

struct ContentRange {
  std::uint64_t first = 0;
  std::optional<std::uint64_t> total;
};

/// "bytes 5-9/10", "bytes 5-9/*"
std::optional<ContentRange> contentRange(const net::Answer& answer) {
  const std::string* header = net::findHeader(answer.headers, "Content-Range");
  if (header == nullptr || !header->starts_with("bytes ")) { return std::nullopt; }
  const std::string_view text = std::string_view{*header}.substr(6);
  const auto dash = text.find('-');
  const auto slash = text.find('/');
  if (dash == std::string_view::npos || slash == std::string_view::npos || slash < dash) {
    return std::nullopt;
  }
  const auto first = parseNumber(text.substr(0, dash));
  const std::string_view total = text.substr(slash + 1);
  if (!first || (total != "*" && !parseNumber(total))) { return std::nullopt; }
  return ContentRange{*first, parseNumber(total)};
}

std::string mediaTypeOf(const net::Answer& answer) {
  const std::string* header = net::findHeader(answer.headers, "Content-Type");
  return header == nullptr ? std::string{} : std::string{trim(header->substr(0, header->find(';')))};
}

Error unexpectedStatus(const std::string& what, const net::Answer& answer) {
  if (answer.status == 404) { return {Code::NotFound, what + ": there is none"}; }
  return {Code::Invalid, fmt::format("{}: status {}", what, answer.status)};
}

/// Of a mirror: which registry it stands for, as containerd says it.
std::string mirrorQuery(bool is_mirror, const std::string& registry) {
  return is_mirror ? "?ns=" + percentEncode(registry) : std::string{};
}

}  // namespace

// ---- Hosts

Result<RegistryHost*> RegistryHosts::at(const std::string& url, bool may_be_plain) {
  const MutexLock lock{mutex_};
  auto& host = hosts_[url];
  if (host == nullptr) {
    auto base = net::parseUrl(url);
    if (!base) {
      hosts_.erase(url);
      return fail(Code::Invalid, fmt::format("a registry or mirror has a name that cannot be asked: {}",
                                             base.error().message));
    }
    host = std::make_unique<RegistryHost>(context_, std::move(*base), may_be_plain);
    if (cancelled_) { host->cancel(); }
  }
  return host.get();
}

Result<RegistryHost*> RegistryHosts::origin(const std::string& registry) {
  const std::string host = registry == "docker.io" ? "registry-1.docker.io" : registry;
  if (context_.options.plain_http.contains(registry)) { return at("http://" + host, false); }
  const auto url = net::parseUrl("https://" + host);
  return at("https://" + host, url && net::isLoopback(url->host));
}

Result<std::vector<RegistryHost*>> RegistryHosts::of(const std::string& registry) {
  std::vector<RegistryHost*> out;
  if (const auto mirrors = context_.options.mirrors.find(registry);
      mirrors != context_.options.mirrors.end()) {
    for (const std::string& url : mirrors->second) {
      auto host = at(url, false);
      if (!host) { return tl::unexpected<Error>(std::move(host.error())); }
      out.push_back(*host);
    }
  }
  auto host = origin(registry);
  if (!host) { return tl::unexpected<Error>(std::move(host.error())); }
  out.push_back(*host);
  return out;
}

void RegistryHosts::cancel() {
  const MutexLock lock{mutex_};
  cancelled_ = true;
  for (const auto& [url, host] : hosts_) { host->cancel(); }
}

// ---- Asking

Registry::Registry(RegistryOptions options, const Clock& clock, Rng rng, Pause& pause)
    : context_{std::move(options), clock, rng, pause}, hosts_{context_} {}

void Registry::cancel() {
  context_.pause.cancel();
  hosts_.cancel();
}

Result<std::vector<RegistryHost*>> Registry::hostsOf(const std::string& registry) {
  auto out = hosts_.of(registry);
  if (out) {
    std::erase_if(*out, [&, last = out->back()](auto* host) { return host != last && away_.contains(host); });
  }
  return out;
}

void Registry::judge(const RegistryHost& mirror, const Error& error) {
  if (error.code == Code::Unavailable || error.code == Code::Deadline) { away_.insert(&mirror); }
}

Result<net::Answer> Registry::ask(RegistryHost& host, const RegistryAsk& ask, RegistryRetry& retry,
                                  bool is_last) {
  retry.begin(is_last);
  while (true) {
    if (retry.isOver()) { return fail(Code::Deadline, host.name() + ": no time is left to ask it"); }
    Reply reply = host.once(ask, retry.deadline());
    if (reply) { return std::move(*reply); }
    if (auto end = retry.failed(reply.error(), false)) { return tl::unexpected<Error>(std::move(*end)); }
  }
}

Status Registry::ping(const std::string& registry) {
  auto host = hosts_.origin(registry);
  if (!host) { return tl::unexpected<Error>(std::move(host.error())); }
  RegistryRetry retry{context_};
  const auto answer = ask(**host, {.target = "/v2/"}, retry, true);
  if (!answer) { return tl::unexpected<Error>(answer.error()); }
  if (answer->status / 100 == 2) { return {}; }
  return fail(Code::Invalid, fmt::format("{} does not speak the API of registries: status {} to /v2/",
                                         registry, answer->status));
}

Result<FetchedManifest> Registry::manifestFrom(RegistryHost& host, const kcache::Reference& reference,
                                               RegistryRetry& retry, bool is_last) {
  const std::string what = fmt::format("{} at {}", reference.text(), host.name());
  const bool is_mirror = hosts_.origin(reference.registry).value_or(nullptr) != &host;
  const RegistryAsk ask_for{
      .target = host.targetOf(reference.repository,
                              "manifests/" + (reference.digest ? reference.digest->text() : reference.tag)) +
                mirrorQuery(is_mirror, reference.registry),
      .headers = {{"Accept", kAccept}},
      .repository = reference.repository,
      .max_body = kcache::kMaxManifestBytes};
  auto answer = ask(host, ask_for, retry, is_last);
  if (!answer) { return tl::unexpected<Error>(std::move(answer.error())); }
  if (answer->status != 200) { return tl::unexpected<Error>(unexpectedStatus(what, *answer)); }
  FetchedManifest out{kcache::Digest::of(answer->body), mediaTypeOf(*answer), std::move(answer->body)};
  if (reference.digest && out.digest != *reference.digest) {
    return fail(Code::Invalid, fmt::format("{}: what came has the digest {}", what, out.digest.text()));
  }
  const std::string* said = net::findHeader(answer->headers, "Docker-Content-Digest");
  if (said != nullptr && said->starts_with(kcache::Digest::kPrefix) && *said != out.digest.text()) {
    return fail(Code::Invalid,
                fmt::format("{}: what came has the digest {} and not the one that was said with it", what,
                            out.digest.text()));
  }
  return out;
}

Result<FetchedManifest> Registry::manifest(const kcache::Reference& reference) {
  const auto hosts = hostsOf(reference.registry);
  if (!hosts) { return tl::unexpected<Error>(hosts.error()); }
  RegistryRetry retry{context_};
  for (std::size_t i = 0;; ++i) {
    RegistryHost* host = (*hosts)[i];
    const bool is_last = i + 1 == hosts->size();
    auto out = manifestFrom(*host, reference, retry, is_last);
    if (out || is_last) { return out; }
    judge(*host, out.error());
  }
}

Result<FetchedManifest> Registry::manifestOfOrigin(const kcache::Reference& reference) {
  const auto host = hosts_.origin(reference.registry);
  if (!host) { return tl::unexpected<Error>(host.error()); }
  RegistryRetry retry{context_};
  return manifestFrom(**host, reference, retry, true);
}

// ---- Blobs

/// What has come of a blob so far, from whichever host.
struct Registry::Pull {
  const kcache::Reference& repository;
  const kcache::Descriptor& blob;
  const ByteSink& sink;
  Sha256 hash{};
  std::uint64_t done = 0;                  // bytes that the sink has
  bool enough = false;                     // it wants no more
  bool lied = false;                       // more came than the blob has, or other than its digest says
  std::set<const RegistryHost*> givers{};  // of what came so far
  std::optional<Error> wrong{};            // for good

  // One try:
  std::uint64_t skip = 0;  // bytes that come again
  bool begun = false;
  bool no_ranges = false;  // the answer is not of the range that was asked for

  [[nodiscard]] std::uint64_t size() const { return static_cast<std::uint64_t>(blob.size); }
  void beginTry() {
    skip = 0;
    begun = false;
    no_ranges = false;
  }
  bool refuse(std::string why) {
    lied = true;
    wrong = Error{Code::Invalid, fmt::format("blob {}: {}", blob.digest.text(), why)};
    return false;
  }
  bool begin(const net::Answer& head) {
    begun = true;
    if (head.status != 206) {
      skip = done;
      const std::string* length = net::findHeader(head.headers, "Content-Length");
      const auto bytes = length == nullptr ? std::nullopt : parseNumber(*length);
      if (bytes && *bytes != size()) {
        return refuse(fmt::format("it has {} bytes, {} were announced", *bytes, size()));
      }
      return true;
    }
    const auto range = contentRange(head);
    no_ranges = !range || range->first != done || (range->total && *range->total != size());
    return !no_ranges;
  }
  bool take(const net::Answer& head, std::string_view piece) {
    if (!begun && !begin(head)) { return false; }
    const std::size_t known = static_cast<std::size_t>(std::min<std::uint64_t>(skip, piece.size()));
    skip -= known;
    piece.remove_prefix(known);
    if (piece.empty()) { return true; }
    if (piece.size() > size() - done) { return refuse(fmt::format("more came than its {} bytes", size())); }
    hash.update(piece);
    done += piece.size();
    enough = !sink(piece);
    return !enough;
  }
  Status finish() {
    const std::string hex = hash.hex();
    if (hex == blob.digest.hex()) { return {}; }
    refuse(fmt::format("what came has the digest sha256:{}", hex));
    return tl::unexpected<Error>(*wrong);
  }
};

Status Registry::blobFrom(RegistryHost& host, Pull& pull, RegistryRetry& retry, bool is_last) {
  const bool is_mirror = hosts_.origin(pull.repository.registry).value_or(nullptr) != &host;
  const net::TakePiece take = [&](const net::Answer& head, std::string_view piece) {
    bytes_downloaded_ += piece.size();
    const Mono came = context_.clock.now().mono;
    const bool goes_on = pull.take(head, piece);  // who takes it may rest, for its turn
    retry.extend(context_.clock.now().mono - came);
    return goes_on;
  };
  RegistryAsk ask_for{
      .target = host.targetOf(pull.repository.repository, "blobs/" + pull.blob.digest.text()) +
                mirrorQuery(is_mirror, pull.repository.registry),
      .repository = pull.repository.repository,
      .max_body = std::numeric_limits<std::size_t>::max(),  // `pull` counts, and says what came too much
      .take = &take};
  const std::string what = fmt::format("blob {} at {}", pull.blob.digest.text(), host.name());
  retry.begin(is_last);
  for (bool ranges = true;;) {
    const std::uint64_t before = pull.done;
    pull.beginTry();
    ask_for.headers.clear();
    if (ranges && before > 0) { ask_for.headers = {{"Range", fmt::format("bytes={}-", before)}}; }
    Reply reply = host.once(ask_for, retry.deadline());
    if (pull.done > before) { pull.givers.insert(&host); }
    if (pull.wrong) { return tl::unexpected<Error>(*pull.wrong); }
    if (pull.enough) { return fail(Code::Conflict, what + ": no more is wanted"); }
    const bool came = reply ? reply->status / 100 == 2 && !pull.no_ranges : pull.done > before;
    if (came && pull.done == pull.size()) { return pull.finish(); }
    Refusal why{
        {Code::Unavailable, fmt::format("{}: it ended after {} of {} bytes", what, pull.done, pull.size())},
        true};
    if (!reply) {
      why = std::move(reply.error());
    } else if (pull.no_ranges || reply->status == 416) {
      if (!ranges || before == 0) {
        return fail(Code::Invalid, what + ": an answer to a range that nobody asked for");
      }
      ranges = false;
      why.error.message = what + ": an answer to another range than the one asked for";
    } else if (reply->status / 100 != 2) {
      return tl::unexpected<Error>(unexpectedStatus(what, *reply));
    }
    if (auto end = retry.failed(why, pull.done - before >= context_.options.progress)) {
      return tl::unexpected<Error>(std::move(*end));
    }
  }
}

Status Registry::blob(const kcache::Reference& repository, const kcache::Descriptor& blob,
                      const ByteSink& sink) {
  auto hosts = hostsOf(repository.registry);
  if (!hosts) { return tl::unexpected<Error>(hosts.error()); }
  if (hosts->size() > 1) {
    std::erase_if(*hosts, [&](RegistryHost* host) {
      return host != hosts->back() && liars_.contains({host, blob.digest.text()});
    });
  }
  RegistryRetry retry{context_};
  Pull pull{.repository = repository, .blob = blob, .sink = sink};
  for (std::size_t i = 0;; ++i) {
    RegistryHost* host = (*hosts)[i];
    const bool is_last = i + 1 == hosts->size();
    const std::uint64_t before = pull.done;
    Status out = blobFrom(*host, pull, retry, is_last);
    if (pull.lied) {  // any of them
      pull.givers.insert(host);
      for (const RegistryHost* giver : pull.givers) { liars_.emplace(giver, blob.digest.text()); }
    }
    const bool is_final = out || pull.enough || is_last;
    if (is_final || (pull.lied && pull.done > 0)) { return out; }
    if (pull.done == before) { judge(*host, out.error()); }
    pull.lied = false;
    pull.wrong.reset();
  }
}

}  // namespace gs::cacherim
