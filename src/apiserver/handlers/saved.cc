#include "apiserver/handlers/saved.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

namespace gs::apiserver {
namespace {

using json::Array;
using json::Object;
using json::Value;

constexpr int kFormat = 1;

Array saveOwners(const Owners& owners) {
  Array out;
  for (const auto& [manager, fields] : owners) {
    out.emplace_back(Object{{"manager", manager.name},
                            {"applies", manager.applies},
                            {"subresource", manager.subresource},
                            {"apiVersion", manager.api_version},
                            {"fields", toJson(fields)}});
  }
  return out;
}

OwnersPtr restoreOwners(const Value& saved) {
  if (saved.items().empty()) { return nullptr; }
  Owners out;
  for (const Value& one : saved.items()) {
    out[{std::string{one["manager"].str()}, one["applies"].boolOr(false),
         std::string{one["subresource"].str()}, std::string{one["apiVersion"].str()}}] =
        fieldSetFrom(one["fields"]);
  }
  return std::make_shared<const Owners>(std::move(out));
}

}  // namespace

json::Value saveState(const Store& store) {
  Array objects;
  for (const auto& [key, stored] : store.objects()) {
    Value one = Object{{"resource", key.resource}, {"namespace", key.ns}, {"name", key.name}};
    one.set("object", *stored.object);
    if (stored.owners && !stored.owners->empty()) { one.set("owners", saveOwners(*stored.owners)); }
    objects.push_back(std::move(one));
  }
  return Object{{"format", kFormat},
                {"revision", static_cast<std::int64_t>(store.revision())},
                {"objects", std::move(objects)}};
}

Result<SavedState> readState(const json::Value& saved) {
  if (saved["format"].intOr(0) != kFormat) {
    return fail(Code::Invalid, fmt::format("format is {}; this program reads format {}",
                                           json::print(saved["format"]).substr(0, 50), kFormat));
  }
  const auto revision = saved["revision"].integer();
  if (!revision || *revision < 0 || !saved["objects"].isArray()) {
    return fail(Code::Invalid, "revision or objects are missing");
  }
  SavedState out;
  out.revision = static_cast<std::uint64_t>(*revision);
  for (const Value& one : saved["objects"].items()) {
    const StoreKey key{std::string{one["resource"].str()}, std::string{one["namespace"].str()},
                       std::string{one["name"].str()}};
    if (key.resource.empty() || key.name.empty() || !one["object"].isObject()) {
      return fail(Code::Invalid,
                  fmt::format("objects[{}] has no resource, name or object", out.objects.size()));
    }
    if (key.resource == kCrdsId) { out.resources.serve(one["object"]); }
    out.objects[key] = {std::make_shared<const Value>(one["object"]), restoreOwners(one["owners"])};
  }
  return out;
}

}  // namespace gs::apiserver
