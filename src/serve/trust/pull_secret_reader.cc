#include "serve/trust/pull_secret_reader.h"

#include <fmt/format.h>

#include <future>
#include <memory>
#include <utility>

namespace gs::serve {

Result<std::string> PullSecretReader::textOf(const model::ObjectKey& secret, Duration budget) {
  auto promise = std::make_shared<std::promise<Result<std::string>>>();
  auto answer = promise->get_future();
  const bool is_asked =
      read_(secret, [promise](Result<std::string> text) { promise->set_value(std::move(text)); });
  if (!is_asked || answer.wait_for(budget) != std::future_status::ready) {
    return fail(
        Code::Unavailable,
        fmt::format("Secret {} (spec.imagePullSecrets) was not read in time; try again", secret.text()));
  }
  return answer.get();
}

Result<cacherim::Credentials> PullSecretReader::of(const model::ObjectKey& cache,
                                                   const std::vector<std::string>& names, Duration budget) {
  cacherim::Credentials out;
  for (const std::string& name : names) {
    const model::ObjectKey secret{cache.ns.empty() ? ns_ : cache.ns, name};
    const auto text = textOf(secret, budget);
    if (!text) { return tl::unexpected(text.error()); }
    const auto held = cacherim::Credentials::parsePullSecret(*text);
    if (!held) {
      return fail(held.error().code,
                  fmt::format("Secret {} (spec.imagePullSecrets): {}", secret.text(), held.error().message));
    }
    out.add(*held);
  }
  return out;
}

}  // namespace gs::serve
