// Small readings that the decoders of decode.h share. Nothing here refuses: what is absent or of a wrong type
// reads as empty.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "json/document.h"
#include "model/ids.h"
#include "model/node.h"
#include "model/resources.h"

namespace gs::kapi {

[[nodiscard]] inline std::string text(const json::View& v) { return std::string{v.str()}; }
[[nodiscard]] std::map<std::string, std::string> stringMap(const json::View& v);
[[nodiscard]] inline model::Uid uidField(const json::View& object) {
  return model::Uid{object["metadata"]["uid"].str()};
}
/// Of a GpuNodeStatus.
[[nodiscard]] model::Writer writerField(const json::View& object);
/// A whole number from 0 to `most`; `fallback` for anything else.
[[nodiscard]] std::int64_t bounded(const json::View& v, std::int64_t most, std::int64_t fallback = 0);

/// The same of a text such as an annotation's; nothing for anything else.
[[nodiscard]] std::optional<int> smallNumber(std::string_view text, int most);

/// Adds one entry of a ResourceList ("cpu": "500m") to `to`; "pods" is left out. False:
/// it cannot be read or is negative.
[[nodiscard]] bool addAmount(model::Resources& to, std::string_view name, const json::View& quantity);

}  // namespace gs::kapi
