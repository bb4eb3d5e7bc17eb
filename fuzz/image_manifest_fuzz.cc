// Any bytes as an image's manifest, index or config: no crash, no hang; what is read prints to a text that
// reads and prints to the same.
#include <cstdint>
#include <string_view>

#include "kcache/image/manifest.h"
#include "kcache/image/reference.h"

namespace {

using gs::kcache::AnyManifest;
using gs::kcache::Index;
using gs::kcache::Manifest;

std::string printed(const AnyManifest& any) {
  const auto* index = std::get_if<Index>(&any);
  return index != nullptr ? gs::kcache::printIndex(*index)
                          : gs::kcache::printManifest(std::get<Manifest>(any));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view in{reinterpret_cast<const char*>(data), size};
  if (const auto any = gs::kcache::parseManifest(in, "")) {
    const std::string text = printed(*any);
    const auto again = gs::kcache::parseManifest(text, "");
    if (!again || printed(*again) != text) { __builtin_trap(); }
    if (const auto* index = std::get_if<Index>(&*any)) { (void)gs::kcache::choosePlatform(*index, "amd64"); }
  }
  if (const auto config = gs::kcache::parseImageConfig(in)) {
    const auto again = gs::kcache::parseImageConfig(gs::kcache::printImageConfig(*config));
    if (!again || again->diff_ids != config->diff_ids) { __builtin_trap(); }
  }
  if (const auto reference = gs::kcache::parseReference(in)) {
    const auto again = gs::kcache::parseReference(reference->text());
    if (!again || *again != *reference) { __builtin_trap(); }
  }
  return 0;
}
