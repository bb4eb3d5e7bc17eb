#include "test/dra/draw_device.h"

#include <charconv>
#include <utility>

#include "kapi/quantity.h"
#include "test/dra/words.h"

namespace gs::dra {
namespace {

std::pair<model::Attribute, json::Value> drawAttribute(Rng& rng) {
  switch (rng.below(4)) {
    case 0: {
      const bool truth = rng.chance(50);
      return {truth, json::Object{{"bool", truth}}};
    }
    case 1: {
      const std::string_view text = oneOf(rng, kNumbers);
      std::int64_t number = 0;
      std::from_chars(text.data(), text.data() + text.size(), number);
      return {number, json::Object{{"int", number}}};
    }
    case 2: {
      const std::string text{oneOf(rng, kTexts)};
      return {text, json::Object{{"string", text}}};
    }
    default: {
      const std::string text{oneOf(rng, kVersions)};
      return {*model::parseSemVer(text), json::Object{{"version", text}}};
    }
  }
}

/// Where a driver leaves its own domain out, the decoder fills it in.
std::pair<model::QualifiedName, std::string> drawName(Rng& rng, const std::string& driver) {
  const std::string name{oneOf(rng, kNames)};
  if (rng.chance(30)) { return {{driver, name}, name}; }
  const std::string domain{oneOf(rng, kDomains)};
  return {{domain, name}, domain + "/" + name};
}

}  // namespace

DrawnDevice drawDevice(Rng& rng) {
  DrawnDevice out;
  out.driver = oneOf(rng, kDomains);
  json::Object attributes;
  json::Object capacity;
  for (std::uint64_t n = rng.below(24); n > 0; --n) {
    const auto [key, written] = drawName(rng, out.driver);
    auto [value, object] = drawAttribute(rng);
    if (out.device.attributes.emplace(key, std::move(value)).second) { attributes.set(written, object); }
  }
  for (std::uint64_t n = rng.below(12); n > 0; --n) {
    const auto [key, written] = drawName(rng, out.driver);
    const std::string text{oneOf(rng, kQuantities)};
    if (out.device.capacity.emplace(key, *kapi::exactQuantity(text)).second) {
      capacity.set(written, json::Object{{"value", text}});
    }
  }
  out.object = json::Object{
      {"driver", out.driver}, {"attributes", std::move(attributes)}, {"capacity", std::move(capacity)}};
  return out;
}

}  // namespace gs::dra
