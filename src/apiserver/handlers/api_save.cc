// The whole state as JSON, and back.
#include <fmt/format.h>

#include <charconv>

#include "apiserver/handlers/api.h"

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

json::Value Api::save() const {
  Array objects;
  for (const auto& [key, stored] : store_.objects()) {
    Value one = Object{{"resource", key.resource}, {"namespace", key.ns}, {"name", key.name}};
    one.set("object", *stored.object);
    if (stored.owners && !stored.owners->empty()) { one.set("owners", saveOwners(*stored.owners)); }
    objects.push_back(std::move(one));
  }
  return Object{{"format", kFormat},
                {"revision", static_cast<std::int64_t>(store_.revision())},
                {"objects", std::move(objects)}};
}

gs::Status Api::take(const json::Value& saved, bool goes_back) {
  if (saved["format"].intOr(0) != kFormat) {
    return fail(Code::Invalid, fmt::format("format is {}; this program reads format {}",
                                           json::print(saved["format"]).substr(0, 50), kFormat));
  }
  const auto revision = saved["revision"].integer();
  if (!revision || *revision < 0 || !saved["objects"].isArray()) {
    return fail(Code::Invalid, "revision or objects are missing");
  }
  Store::Map objects;
  Resources resources;
  for (const Value& one : saved["objects"].items()) {
    const StoreKey key{std::string{one["resource"].str()}, std::string{one["namespace"].str()},
                       std::string{one["name"].str()}};
    if (key.resource.empty() || key.name.empty() || !one["object"].isObject()) {
      return fail(Code::Invalid, fmt::format("objects[{}] has no resource, name or object", objects.size()));
    }
    if (key.resource == kCrdsId) { resources.serve(one["object"]); }
    objects[key] = {std::make_shared<const Value>(one["object"]), restoreOwners(one["owners"])};
  }
  watches_.clear();
  told_.clear();
  last_told_.clear();
  for (const auto& [key, stored] :
       objects) {  // when they were written is not kept: an hour from the start on
    if (key.resource == kEventsId) { tell(key, Mono{}); }
  }
  resources_ = std::move(resources);
  store_.reset(std::move(objects), static_cast<std::uint64_t>(*revision), goes_back);
  return {};
}

}  // namespace gs::apiserver
