#include "sandbox/node/pod_event.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "apiserver/handlers/api.h"
#include "base/ascii.h"
#include "kapi/time.h"

namespace gs::sandbox {
namespace {

using json::Object;
using json::Value;

constexpr std::size_t kMaxPodName = 200;  // of the Event's name, which ends with the pod's uid anyway

std::string eventName(const Value& pod, std::string_view reason) {
  std::string name{pod["metadata"]["name"].str().substr(0, kMaxPodName)};
  while (!name.empty() && (name.back() == '.' || name.back() == '-')) { name.pop_back(); }
  return fmt::format("{}.{}.{}", name, inLowerCase(reason), pod["metadata"]["uid"].str().substr(0, 8));
}

bool waitsForAnotherThan(const std::string& scheduler, const Value& pod) {
  return pod["spec"]["schedulerName"].str() != scheduler && pod["spec"]["nodeName"].str().empty() &&
         pod["metadata"]["deletionTimestamp"].isNull();
}

}  // namespace

void warnAbout(apiserver::Api& api, const json::Value& pod, const std::string& reason,
               const std::string& message, Now now) {
  const Value& meta = pod["metadata"];
  const std::string ns{meta["namespace"].str()};
  const std::string time = kapi::timeText(now.wall);
  Value event = Object{{"metadata", Object{{"name", eventName(pod, reason)}, {"namespace", ns}}},
                       {"involvedObject", Object{{"apiVersion", "v1"},
                                                 {"kind", "Pod"},
                                                 {"namespace", ns},
                                                 {"name", meta["name"]},
                                                 {"uid", meta["uid"]}}},
                       {"type", "Warning"},
                       {"reason", reason},
                       {"message", message},
                       {"source", Object{{"component", "gpu-sandbox"}}},
                       {"firstTimestamp", time},
                       {"lastTimestamp", time},
                       {"count", 1}};
  (void)api.handle(
      {"POST", fmt::format("/api/v1/namespaces/{}/events", ns), "application/json", std::move(event)}, now);
}

UnclaimedPods::UnclaimedPods(apiserver::Api& api, std::string scheduler)
    : api_{api}, scheduler_{std::move(scheduler)}, position_{api.store().historyEnd()} {}

void UnclaimedPods::look(Now now) {
  const apiserver::Store& store = api_.store();
  std::vector<apiserver::ObjectPtr> found;  // told afterwards: that is a change too
  for (; position_ < store.historyEnd(); ++position_) {
    const apiserver::HistoryEntry* entry = store.entry(position_);
    const bool came = entry != nullptr && entry->key.resource == "/pods" && entry->before == nullptr;
    if (came && entry->after != nullptr && waitsForAnotherThan(scheduler_, *entry->after)) {
      found.push_back(entry->after);
    }
  }
  for (const apiserver::ObjectPtr& pod : found) {
    warnAbout(api_, *pod, "NoSuchScheduler",
              fmt::format("no {} is here, so this pod waits for ever; set spec.schedulerName: {}",
                          (*pod)["spec"]["schedulerName"].str(), scheduler_),
              now);
  }
}

}  // namespace gs::sandbox
