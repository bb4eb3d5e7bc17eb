#include "sandbox/controllers/revisions.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/short_name.h"
#include "sandbox/controllers/objects.h"
#include "sandbox/controllers/owned.h"

namespace gs::sandbox::controllers {
namespace {

using json::Value;

constexpr std::size_t kMostOfPrefix = 223;  // as the controller-manager cuts the name of a set
constexpr const char* kRevisionHash = "controller.kubernetes.io/hash";

std::vector<Value> revisionsOf(Client& client, const Value& set) {
  std::vector<Value> out;
  for (const auto& one : client.all(kRevisions, std::string{set["metadata"]["namespace"].str()})) {
    if (isControlledBy(*one, set)) { out.push_back(*one); }
  }
  std::stable_sort(out.begin(), out.end(), [](const Value& a, const Value& b) {
    return a["revision"].intOr(0) < b["revision"].intOr(0);
  });
  return out;
}

/// As a strategic merge patch of the set: it takes the whole template back.
Value dataOf(const Value& set) {
  Value pod_template = set["spec"]["template"];
  pod_template.set("$patch", "replace");
  return json::Object{{"spec", json::Object{{"template", std::move(pod_template)}}}};
}

Value newRevision(const Value& set, std::int64_t number, std::int64_t collisions) {
  Value data = dataOf(set);
  const std::string hash = shortHash(data, collisions);
  Value labels = set["spec"]["template"]["metadata"]["labels"];
  labels.set(kRevisionHash, hash);
  Value meta = json::Object{{"name", fmt::format("{}-{}", beginningOf(nameOf(set), kMostOfPrefix), hash)},
                            {"labels", std::move(labels)},
                            {"ownerReferences", json::Array{controllerReference(set)}}};
  if (const Value* notes = set["metadata"].find("annotations")) { meta.set("annotations", *notes); }
  return json::Object{{"apiVersion", "apps/v1"},
                      {"kind", "ControllerRevision"},
                      {"metadata", std::move(meta)},
                      {"data", std::move(data)},
                      {"revision", number}};
}

}  // namespace

Revisions reviseTemplate(Client& client, const json::Value& set) {
  Revisions out;
  out.collisions = set["status"]["collisionCount"].intOr(0);
  const auto known = revisionsOf(client, set);
  const std::int64_t next = known.empty() ? 1 : known.back()["revision"].intOr(0) + 1;
  const Value data = dataOf(set);
  const auto equal =
      std::find_if(known.rbegin(), known.rend(), [&](const Value& one) { return one["data"] == data; });
  if (equal != known.rend() && equal == known.rbegin()) {
    out.update = *equal;
  } else if (equal != known.rend()) {
    Value latest = *equal;
    latest.set("revision", next);
    auto response = client.replace(latest);
    out.again.failed = !succeeded(response);
    out.update = out.again.failed ? *equal : response.body;
  } else {
    out.update = newRevision(set, next, out.collisions);
    auto response = client.create(kRevisions, std::string{set["metadata"]["namespace"].str()}, out.update);
    out.again.failed = !succeeded(response) && !isForEver(response);
    if (response.code == 409) { ++out.collisions; }  // another object has its name
    if (succeeded(response)) { out.update = std::move(response.body); }
  }
  const auto current = std::find_if(known.begin(), known.end(), [&](const Value& one) {
    return nameOf(one) == set["status"]["currentRevision"].str();
  });
  out.current = current == known.end() ? out.update : *current;
  return out;
}

void forgetRevisions(Client& client, const json::Value& set, const std::set<std::string>& used) {
  auto known = revisionsOf(client, set);
  std::erase_if(known, [&](const Value& one) { return used.contains(nameOf(one)); });
  const auto keep =
      static_cast<std::size_t>(std::max<std::int64_t>(0, set["spec"]["revisionHistoryLimit"].intOr(10)));
  for (std::size_t i = 0; i + keep < known.size(); ++i) { (void)client.remove(known[i]); }
}

json::Value atRevision(const json::Value& set, const json::Value& revision) {
  Value pod_template = revision["data"]["spec"]["template"];
  if (!pod_template.isObject()) { return set; }
  pod_template.erase("$patch");
  Value out = set;
  out.child("spec").set("template", std::move(pod_template));
  return out;
}

}  // namespace gs::sandbox::controllers
