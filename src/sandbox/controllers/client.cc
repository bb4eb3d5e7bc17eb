#include "sandbox/controllers/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/ascii.h"
#include "base/short_name.h"
#include "kapi/time.h"
#include "sandbox/controllers/objects.h"

namespace gs::sandbox::controllers {
namespace {

using json::Value;

constexpr const char* kAgent = "kube-controller-manager";
constexpr std::size_t kMostOfName = 200;  // of an Event's name, which goes on after it
constexpr std::size_t kHashOfName = 16;

std::string collectionOf(const apiserver::Resource& r, const std::string& ns) {
  const char* root = r.group.empty() ? "api" : "apis";
  return r.namespaced ? fmt::format("/{}/{}/namespaces/{}/{}", root, r.apiVersion(), ns, r.plural)
                      : fmt::format("/{}/{}/{}", root, r.apiVersion(), r.plural);
}

/// "replicaset-controller"
std::string componentOf(const Value& object) { return inLowerCase(object["kind"].str()) + "-controller"; }

}  // namespace

apiserver::ObjectPtr Client::find(const std::string& resource, const std::string& ns,
                                  const std::string& name) const {
  const auto* there = api_.store().find({resource, ns, name});
  return there == nullptr ? nullptr : there->object;
}

std::vector<apiserver::ObjectPtr> Client::all(const std::string& resource, const std::string& ns) const {
  std::vector<apiserver::ObjectPtr> out;
  const auto& objects = api_.store().objects();
  for (auto it = objects.lower_bound({resource, ns, ""}); it != objects.end(); ++it) {
    if (it->first.resource != resource || it->first.ns != ns) { break; }
    out.push_back(it->second.object);
  }
  return out;
}

std::string Client::defaultStorageClass() const { return apiserver::defaultClassName(api_.store()); }

apiserver::Response Client::send(const char* method, std::string target, json::Value body,
                                 const char* content_type) {
  apiserver::Request request{method, std::move(target), content_type, std::move(body)};
  request.user_agent = kAgent;
  return api_.handle(request, now_);
}

std::string Client::pathOf(const json::Value& object) const {
  const auto* r = api_.resources().ofKind(object["apiVersion"].str(), object["kind"].str());
  const Value& meta = object["metadata"];
  return fmt::format("{}/{}", collectionOf(*r, std::string{meta["namespace"].str()}), meta["name"].str());
}

apiserver::Response Client::create(const std::string& resource, const std::string& ns, json::Value object) {
  return send("POST", collectionOf(*api_.resources().stored(resource), ns), std::move(object));
}

Client::Made Client::createPod(const json::Value& owner, json::Value pod, const PodWords& words) {
  const auto* r = api_.resources().ofKind(owner["apiVersion"].str(), owner["kind"].str());
  const std::string ns{owner["metadata"]["namespace"].str()};
  const apiserver::StoreKey key{r->storeId(), ns, nameOf(owner)};
  if (orders_.of(key) >= PodOrders::kMostOfOne) { return Made::Enough; }
  apiserver::Request request{"POST", collectionOf(*api_.resources().stored(kPods), ns), "application/json",
                             std::move(pod)};
  request.user_agent = kAgent;
  auto begun = api_.begin(std::move(request), now_);
  if (const auto* response = std::get_if<apiserver::Response>(&begun)) {
    return tellOfPod(owner, *response, words);
  }
  orders_.add(std::get<apiserver::RequestId>(begun), {key, words});
  return Made::Later;
}

Client::Made Client::tellOfPod(const json::Value& owner, const apiserver::Response& response,
                               const PodWords& words) {
  if (succeeded(response)) {
    tell(owner, "Normal", "SuccessfulCreate", words.made + (words.with_name ? nameOf(response.body) : ""));
    return Made::Yes;
  }
  if (isForEver(response)) { return Made::Never; }
  refusal_ = reasonOf(response);
  tell(owner, "Warning", "FailedCreate", words.refused + refusal_);
  return Made::Refused;
}

apiserver::Response Client::put(const json::Value& object, const char* subresource) {
  return send("PUT", pathOf(object) + subresource, object);
}

apiserver::Response Client::patch(const json::Value& object, json::Value change) {
  change.child("metadata").set("uid", object["metadata"]["uid"]);
  return send("PATCH", pathOf(object), std::move(change), "application/strategic-merge-patch+json");
}

apiserver::Response Client::remove(const json::Value& object, json::Value options) {
  options.child("preconditions").set("uid", object["metadata"]["uid"]);
  if (options["propagationPolicy"].isNull()) { options.set("propagationPolicy", "Background"); }
  return send("DELETE", pathOf(object), std::move(options));
}

/// Said before, it is said once more: the Event counts.
void Client::tell(const json::Value& about, const char* type, std::string_view reason,
                  std::string_view message) {
  const Value& meta = about["metadata"];
  const std::string ns{meta["namespace"].str()};
  const std::string what = fmt::format("{} {} {} {}", meta["uid"].str(), type, reason, message);
  const std::string name =
      fmt::format("{}.{}", beginningOf(meta["name"].str(), kMostOfName), hashOf(what, kHashOfName));
  const std::string time = kapi::timeText(now_.wall);
  if (const auto* said = api_.store().find({std::string{apiserver::kEventsId}, ns, name})) {
    const auto count = (*said->object)["deprecatedCount"].intOr(1);
    (void)send("PATCH", fmt::format("/api/v1/namespaces/{}/events/{}", ns, name),
               json::Object{{"count", count + 1}, {"lastTimestamp", time}}, "application/merge-patch+json");
    return;
  }
  Value event = json::Object{{"metadata", json::Object{{"name", name}}},
                             {"involvedObject", json::Object{{"apiVersion", about["apiVersion"]},
                                                             {"kind", about["kind"]},
                                                             {"namespace", ns},
                                                             {"name", meta["name"]},
                                                             {"uid", meta["uid"]}}},
                             {"type", type},
                             {"reason", reason},
                             {"message", message},
                             {"source", json::Object{{"component", componentOf(about)}}},
                             {"firstTimestamp", time},
                             {"lastTimestamp", time},
                             {"count", 1}};
  (void)create("/events", ns, std::move(event));
}

std::string reasonOf(const apiserver::Response& response) {
  return std::string{response.body["message"].str()};
}

bool isForEver(const apiserver::Response& refused) {
  const auto& causes = refused.body["details"]["causes"].items();
  return std::any_of(causes.begin(), causes.end(),
                     [](const Value& cause) { return cause["reason"].str() == "NamespaceTerminating"; });
}

}  // namespace gs::sandbox::controllers
