// Any bytes as an admission review of a kernel cache, and as what Kyverno says: the webhook answers with a
// review or a refusal, its patch can be applied, a second pass over what comes of it changes nothing, and
// that is valid.
#include <cstdint>
#include <string>
#include <string_view>

#include "apiserver/patch/patch.h"
#include "base/base64.h"
#include "operator/admission/handler.h"
#include "operator/admission/kyverno.h"

namespace {

using gs::admission::Served;
using gs::json::Value;

Served answerOf(const gs::gkm::WebhookHandler& handler, const std::string& target, std::string body) {
  Served served =
      handler.answer({.method = "POST", .target = target, .headers = {}, .body = std::move(body)});
  if (served.response.status != 200 && served.response.status != 400) { __builtin_trap(); }
  if (!gs::json::parse(served.response.body)) { __builtin_trap(); }
  return served;
}

void apply(const Served& served, Value& review) {
  const auto body = gs::json::parse(served.response.body);
  const auto patch = gs::decodeBase64((*body)["response"]["patch"].str());
  if (!patch) { __builtin_trap(); }
  const auto operations = gs::json::parse(*patch);
  if (!operations || !gs::apiserver::applyJsonPatch(review.child("request").child("object"), *operations)) {
    __builtin_trap();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view in{reinterpret_cast<const char*>(data), size};
  const gs::kcache::Digest digest = gs::kcache::Digest::of("");
  const gs::kcache::Reference image{"quay.io", "a/b", "", digest};
  if (gs::gkm::kyvernoVouches(in, image) && in.find(digest.text()) == std::string_view::npos) {
    __builtin_trap();
  }
  const gs::gkm::WebhookHandler handler{{.resolve = [&](const auto&, const gs::kcache::Reference& of,
                                                        const auto&) -> gs::Result<gs::gkm::Resolved> {
                                           return gs::gkm::Resolved{of.digest.value_or(digest)};
                                         },
                                         .signing_key = [] { return "a key"; },
                                         .honours_kyverno = true}};
  for (const std::string kind : {"gkmcache", "clustergkmcache"}) {
    const std::string mutate = "/mutate-gkm-io-v1alpha1-" + kind;
    const std::string validate = "/validate-gkm-io-v1alpha1-" + kind;
    (void)answerOf(handler, validate, std::string{in});
    const Served served = answerOf(handler, mutate, std::string{in});
    if (served.result != "patched") { continue; }
    auto review = gs::json::parse(in);
    if (!review) { __builtin_trap(); }
    apply(served, *review);
    const std::string after = gs::json::print(*review);
    if (answerOf(handler, mutate, after).result != "allowed") { __builtin_trap(); }
    if (answerOf(handler, validate, after).result != "allowed") { __builtin_trap(); }
  }
  return 0;
}
