#include "serve/trust/pull_secret_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <memory>
#include <utility>

namespace gs::serve {
namespace {

constexpr std::size_t kMostText = std::size_t{2} << 20;  // of all Secrets of a cache

std::string named(const model::ObjectKey& secret, std::string_view what) {
  return fmt::format("Secret {} (spec.imagePullSecrets){}", secret.text(), what);
}

}  // namespace

Result<std::string> PullSecretReader::textOf(const model::ObjectKey& secret, Mono until) {
  auto promise = std::make_shared<std::promise<Result<std::string>>>();
  auto answer = promise->get_future();
  const auto left = [&] { return std::max(Duration::zero(), until - clock_.now().mono); };
  const bool is_asked = left() > Duration::zero() && read_(secret, [promise](Result<std::string> text) {
                          promise->set_value(std::move(text));
                        });
  if (!is_asked || answer.wait_for(left()) != std::future_status::ready) {
    return fail(Code::Unavailable,
                named(secret, " was not read in the time that all Secrets of a cache have; try again"));
  }
  return answer.get();
}

Result<cacherim::Credentials> PullSecretReader::of(const model::ObjectKey& cache,
                                                   const std::vector<std::string>& names, Duration budget) {
  const Mono until = clock_.now().mono + budget;
  std::size_t bytes = 0;
  cacherim::Credentials out;
  for (const std::string& name : names) {
    const model::ObjectKey secret{cache.ns.empty() ? ns_ : cache.ns, name};
    const auto text = textOf(secret, until);
    if (!text) { return tl::unexpected(text.error()); }
    bytes += text->size();
    if (bytes > kMostText) {
      return fail(
          Code::Invalid,
          named(secret, fmt::format(": all Secrets of a cache may have {} bytes together; name fewer, "
                                    "or smaller ones",
                                    kMostText)));
    }
    const auto held = cacherim::Credentials::parsePullSecret(*text);
    if (!held) { return fail(held.error().code, named(secret, ": " + held.error().message)); }
    out.add(*held);
  }
  return out;
}

}  // namespace gs::serve
