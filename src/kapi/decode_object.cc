#include <charconv>

#include "kapi/decode.h"
#include "kapi/fields.h"

namespace gs::kapi {

model::Object decodeObject(Kind kind, const json::View& v) {
  return v.isObject() && kind->decode != nullptr ? kind->decode(v) : model::Object{};
}

model::ObjectKey objectKey(const json::View& v) {
  const json::View meta = v["metadata"];
  return {text(meta["namespace"]), text(meta["name"])};
}

model::Revision objectRevision(const json::View& v) {
  const std::string_view s = v["metadata"]["resourceVersion"].str();
  model::Revision revision = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), revision);
  return error == std::errc{} && end == s.data() + s.size() ? revision : 0;
}

}  // namespace gs::kapi
