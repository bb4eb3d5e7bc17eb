// Any bytes as an admission review and as a map: the webhook answers with a review or a refusal, its patch
// can be applied, and a second pass over what comes of it changes nothing; with and without gates.
#include <cstdint>
#include <string>
#include <string_view>

#include "apiserver/patch/patch.h"
#include "base/base64.h"
#include "model/map.h"
#include "webhook/handler.h"

namespace {

using gs::json::Value;

/// `review` goes to /mutate, and its object is changed as the answer says. False: nothing was to change.
bool changed(const gs::webhook::Handler& handler, Value& review) {
  const auto served =
      handler.answer({.method = "POST", .target = "/mutate", .headers = {}, .body = gs::json::print(review)});
  const auto body = gs::json::parse(served.response.body);
  if (!body || served.response.status != 200) { __builtin_trap(); }
  const auto patch = gs::decodeBase64((*body)["response"]["patch"].str());
  if (!patch) { __builtin_trap(); }
  if (patch->empty()) { return false; }
  const auto operations = gs::json::parse(*patch);
  if (!operations || !gs::apiserver::applyJsonPatch(review.child("request").child("object"), *operations)) {
    __builtin_trap();
  }
  return true;
}

void lookAt(const gs::webhook::Handler& handler, std::string_view in) {
  for (const char* target : {"/validate", "/mutate"}) {
    const auto served =
        handler.answer({.method = "POST", .target = target, .headers = {}, .body = std::string{in}});
    if (served.response.status != 200 && served.response.status != 400) { __builtin_trap(); }
    if (!gs::json::parse(served.response.body)) { __builtin_trap(); }
    if (served.result != "patched") { continue; }
    auto review = gs::json::parse(in);
    if (!review || !changed(handler, *review) || changed(handler, *review)) { __builtin_trap(); }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view in{reinterpret_cast<const char*>(data), size};
  const auto ordinal = gs::model::ordinalOf(in.substr(0, size / 2), in.substr(size / 2));
  const auto entry = gs::model::readMap(in, ordinal.value_or(0)).entry;
  const auto gpus = gs::model::parseMapGpus(entry ? entry->gpus : in);
  if (gpus && gpus->size() > gs::model::kMostMapGpus) { __builtin_trap(); }
  lookAt(gs::webhook::Handler{{}}, in);
  lookAt(gs::webhook::Handler{gs::webhook::PodRules{.gate = true}}, in);
  return 0;
}
