// Any bytes as a line of a watch: an event that can be ordered, or the end of the stream.
#include <cstdint>
#include <string_view>

#include "kapi/decode.h"
#include "testing/kinds.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view in{reinterpret_cast<const char*>(data), size};
  for (const gs::kapi::Kind kind : gs::testing::allKinds()) {
    const auto out = gs::kapi::decodeWatchLine(7, kind, in);
    if (const auto* event = std::get_if<gs::kapi::WatchEvent>(&out)) {
      const bool bookmark = event->type == gs::kapi::WatchType::Bookmark;
      if (event->revision == 0 || (!bookmark && event->key.name.empty())) { __builtin_trap(); }
      if (!bookmark && kind->decode != nullptr && event->object.empty()) { __builtin_trap(); }
    } else if (std::get<gs::kapi::WatchEnded>(out).http == 200) {
      __builtin_trap();
    }
  }
  return 0;
}
