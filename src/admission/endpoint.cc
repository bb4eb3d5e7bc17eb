#include "admission/endpoint.h"

#include <fmt/format.h>

#include "json/document.h"

namespace gs::admission {
namespace {

net::Response badRequest(std::string_view why) { return net::jsonResponse(400, printRefusal(why)); }

std::string_view resultOf(const Verdict& verdict) {
  if (!verdict.allowed) { return "denied"; }
  return verdict.patch.empty() ? "allowed" : "patched";
}

}  // namespace

Served serveReview(const net::Request& request, std::string_view path, const Decide& decide) {
  if (request.method != "POST") {
    net::Response response = net::textResponse(405, fmt::format("{} takes POST\n", path));
    response.headers.emplace_back("Allow", "POST");
    return {std::move(response), path};
  }
  const auto document = json::Document::read(request.body);
  if (!document) { return {badRequest("the body is no JSON: " + document.error().message), path}; }
  const auto review = readReview(document->root());
  if (!review) { return {badRequest(review.error().message), path}; }
  const Verdict verdict = decide(*review);
  return {net::jsonResponse(200, printAnswer(*review, verdict)), path, resultOf(verdict)};
}

}  // namespace gs::admission
