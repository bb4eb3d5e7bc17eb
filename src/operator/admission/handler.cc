#include "operator/admission/handler.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "kcache/kinds/kinds.h"

namespace gs::gkm {
namespace {

struct Path {
  std::string_view path;
  const kapi::Kind& kind;
  admission::Verdict (*decide)(const admission::Review& review, const Rules& rules);
};
const std::array kPaths{
    Path{"/mutate-gkm-io-v1alpha1-gkmcache", kcache::kCache, mutate},
    Path{"/mutate-gkm-io-v1alpha1-clustergkmcache", kcache::kClusterCache, mutate},
    Path{"/validate-gkm-io-v1alpha1-gkmcache", kcache::kCache, validate},
    Path{"/validate-gkm-io-v1alpha1-clustergkmcache", kcache::kClusterCache, validate},
};

}  // namespace

admission::Served WebhookHandler::answer(const net::Request& request) const {
  for (const Path& one : kPaths) {
    if (request.path() != one.path) { continue; }
    return admission::serveReview(request, one.path, [&](const admission::Review& review) {
      return review.kind == one.kind->name ? one.decide(review, rules_) : admission::Verdict{};
    });
  }
  std::string paths;
  for (const Path& one : kPaths) { paths += fmt::format("POST {}\n", one.path); }
  return {net::textResponse(404, std::move(paths))};
}

}  // namespace gs::gkm
