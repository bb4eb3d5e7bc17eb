#include "webhook/handler.h"

#include <fmt/format.h>

#include "webhook/claim_check.h"

namespace gs::webhook {
namespace {

constexpr const char* kMutate = "/mutate";
constexpr const char* kValidate = "/validate";

net::Response badRequest(std::string_view why) { return net::jsonResponse(400, printRefusal(why)); }

std::string_view resultOf(const Verdict& verdict) {
  if (!verdict.allowed) { return "denied"; }
  return verdict.patch.empty() ? "allowed" : "patched";
}

/// A review that does not say what its object is has a pod: nothing else comes to /mutate.
bool isPod(const Review& review) {
  if (!review.group.empty()) { return false; }
  const std::string_view kind = review.kind.empty() ? review.object["kind"].str() : review.kind;
  return kind == "Pod" || kind.empty();
}

}  // namespace

Verdict Handler::decide(bool mutates, const Review& review) const {
  if (mutates && isPod(review)) {
    const bool comes = review.operation == "CREATE" || review.operation.empty();  // env never changes later
    return comes && review.subresource.empty() ? mutatePod(review.object, review.ns, rules_, limit_of_)
                                               : Verdict{};
  }
  return !mutates && review.kind == "GpuClaim" && review.group == "gpu.scheduling" ? checkClaim(review)
                                                                                   : Verdict{};
}

Handler::Served Handler::answer(const net::Request& request) const {
  const bool mutates = request.path() == kMutate;
  if (!mutates && request.path() != kValidate) {
    return {net::textResponse(404, fmt::format("POST {} or {}\n", kMutate, kValidate))};
  }
  const std::string_view path = mutates ? kMutate : kValidate;
  if (request.method != "POST") {
    net::Response response = net::textResponse(405, fmt::format("{} takes POST\n", path));
    response.headers.emplace_back("Allow", "POST");
    return {std::move(response), path};
  }
  const auto document = json::Document::read(request.body);
  if (!document) { return {badRequest("the body is no JSON: " + document.error().message), path}; }
  const auto review = readReview(document->root());
  if (!review) { return {badRequest(review.error().message), path}; }
  const Verdict verdict = decide(mutates, *review);
  return {net::jsonResponse(200, printAnswer(*review, verdict)), path, resultOf(verdict)};
}

}  // namespace gs::webhook
