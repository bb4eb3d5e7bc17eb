#include "webhook/handler.h"

#include <fmt/format.h>

#include "webhook/claim_check.h"

namespace gs::webhook {
namespace {

using admission::Review;
using admission::Verdict;

constexpr const char* kMutate = "/mutate";
constexpr const char* kValidate = "/validate";

/// A review that does not say what its object is has a pod: nothing else comes to /mutate.
bool isPod(const Review& review) {
  if (!review.group.empty()) { return false; }
  const std::string_view kind = review.kind.empty() ? review.object["kind"].str() : review.kind;
  return kind == "Pod" || kind.empty();
}

}  // namespace

/// The env of a container never changes later; containers may come later.
Verdict Handler::decidePod(const Review& review) const {
  if (review.subresource == "ephemeralcontainers" && review.operation == "UPDATE") {
    return mutateLateContainers(review.object, review.old_object, rules_);
  }
  const bool comes = review.operation == "CREATE" || review.operation.empty();
  return comes && review.subresource.empty() ? mutatePod(review.object, review.ns, rules_, limit_of_)
                                             : Verdict{};
}

Verdict Handler::decide(bool mutates, const Review& review) const {
  if (mutates && isPod(review)) { return decidePod(review); }
  return !mutates && review.kind == "GpuClaim" && review.group == "gpu.scheduling" ? checkClaim(review)
                                                                                   : Verdict{};
}

admission::Served Handler::answer(const net::Request& request) const {
  const bool mutates = request.path() == kMutate;
  if (!mutates && request.path() != kValidate) {
    return {net::textResponse(404, fmt::format("POST {} or {}\n", kMutate, kValidate))};
  }
  const std::string_view path = mutates ? kMutate : kValidate;
  return admission::serveReview(request, path, [&](const Review& review) { return decide(mutates, review); });
}

}  // namespace gs::webhook
