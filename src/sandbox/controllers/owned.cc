#include "sandbox/controllers/owned.h"

#include "apiserver/meta/label_selector.h"
#include "sandbox/controllers/objects.h"

namespace gs::sandbox::controllers {
namespace {

using json::Value;

bool finds(const Value& owner, const Value& object) {
  return apiserver::selects(owner["spec"]["selector"], object["metadata"]["labels"]);
}

apiserver::ObjectPtr adopt(Client& client, const Value& owner, const Value& object) {
  const Value change =
      json::Object{{"metadata", json::Object{{"ownerReferences", json::Array{controllerReference(owner)}}}}};
  auto response = client.patch(object, change);
  if (!succeeded(response)) { return nullptr; }
  return std::make_shared<const Value>(std::move(response.body));
}

void release(Client& client, const Value& owner, const Value& object) {
  const Value gone = json::Object{{"$patch", "delete"}, {"uid", owner["metadata"]["uid"]}};
  (void)client.patch(object,
                     json::Object{{"metadata", json::Object{{"ownerReferences", json::Array{gone}}}}});
}

}  // namespace

std::vector<apiserver::ObjectPtr> claim(Client& client, const json::Value& owner, const std::string& resource,
                                        const Filter& adopts) {
  std::vector<apiserver::ObjectPtr> out;
  for (auto& object : client.all(resource, std::string{owner["metadata"]["namespace"].str()})) {
    if (isControlledBy(*object, owner)) {
      if (isDeleting(owner) || finds(owner, *object)) {
        out.push_back(std::move(object));
      } else {
        release(client, owner, *object);
      }
      continue;
    }
    const bool free = controllerOf(*object).isNull() && !isDeleting(*object) && !isDeleting(owner);
    if (!free || !finds(owner, *object) || !adopts(*object)) { continue; }
    if (auto taken = adopt(client, owner, *object)) { out.push_back(std::move(taken)); }
  }
  return out;
}

}  // namespace gs::sandbox::controllers
