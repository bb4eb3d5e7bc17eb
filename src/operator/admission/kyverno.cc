#include "operator/admission/kyverno.h"

#include "json/document.h"

namespace gs::gkm {

bool kyvernoVouches(std::string_view annotation, const kcache::Reference& image) {
  if (!image.digest) { return false; }
  const auto document = json::Document::read(annotation);
  if (!document) { return false; }
  for (const auto [key, value] : document->root().members()) {
    const auto named = kcache::parseReference(key);
    if (!named || named->name() != image.name() || named->digest != image.digest) { continue; }
    if (value.str() == "pass") { return true; }
  }
  return false;
}

}  // namespace gs::gkm
