#include "kapi/pod_requests.h"

#include <fmt/core.h>

#include "kapi/fields.h"

namespace gs::kapi {
namespace {

using json::Value;
using model::Resources;
using Paths = std::set<std::string>;

void addList(Resources& to, const Value& list, const std::string& path, Paths& unreadable) {
  for (const auto& [name, quantity] : list.members()) {
    if (!addAmount(to, name, quantity)) { unreadable.insert(path + "." + name); }
  }
}

/// `resources` has requests and limits; a limit stands in where its request is missing.
Resources effective(const Value& resources, const std::string& path, Paths& unreadable) {
  Resources out;
  addList(out, resources["requests"], path + ".requests", unreadable);
  for (const auto& [name, quantity] : resources["limits"].members()) {
    if (resources["requests"].find(name) != nullptr) { continue; }
    if (!addAmount(out, name, quantity)) { unreadable.insert(path + ".limits." + name); }
  }
  return out;
}

bool resizeIsInfeasible(const Value& pod) {
  for (const Value& condition : pod["status"]["conditions"].items()) {
    if (condition["type"].str() == "PodResizePending" && condition["reason"].str() == "Infeasible") {
      return true;
    }
  }
  return false;
}

const Value& statusOf(const Value& statuses, std::string_view container) {
  static const Value kNone;
  for (const Value& status : statuses.items()) {
    if (status["name"].str() == container) { return status; }
  }
  return kNone;
}

/// What one container counts, given what the kubelet says that it has.
class ContainerCount {
 public:
  ContainerCount(const Value& pod, Paths& unreadable)
      : infeasible_{resizeIsInfeasible(pod)}, unreadable_{unreadable} {}

  Resources operator()(const Value& container, const Value& statuses, const std::string& path) const {
    Resources asks = effective(container["resources"], path + ".resources", unreadable_);
    const Value& status = statusOf(statuses, container["name"].str());
    if (!status["resources"].isObject()) { return asks; }
    Paths ignored;
    Resources has;
    addList(has, status["resources"]["requests"], "", ignored);
    Resources allocated;
    addList(allocated, status["allocatedResources"], "", ignored);
    has.raiseTo(allocated);
    if (infeasible_) { return has; }
    asks.raiseTo(has);
    return asks;
  }

 private:
  bool infeasible_;
  Paths& unreadable_;
};

bool isPodLevel(const std::string& name) {
  return name == "cpu" || name == "memory" || name.rfind("hugepages-", 0) == 0;
}

void setAmount(Resources& r, const std::string& name, const Resources& from) {
  if (name == "cpu") {
    r.cpu_milli = from.cpu_milli;
  } else if (name == "memory") {
    r.memory = from.memory;
  } else {
    r.extended.erase(name);
    if (const auto amount = from.get(name); amount > 0) { r.extended[name] = amount; }
  }
}

void applyPodLevel(Resources& r, const Value& resources, Paths& unreadable) {
  const Resources level = effective(resources, "spec.resources", unreadable);
  for (const char* list : {"requests", "limits"}) {
    for (const auto& [name, quantity] : resources[list].members()) {
      if (isPodLevel(name)) { setAmount(r, name, level); }
    }
  }
}

}  // namespace

Resources podRequests(const Value& pod, Paths& unreadable) {
  const Value& spec = pod["spec"];
  const ContainerCount count{pod, unreadable};
  Resources running;   // containers and all sidecars
  Resources sidecars;  // started so far
  Resources starting;  // the most that is there at once while init containers run
  std::size_t i = 0;
  for (const Value& container : spec["containers"].items()) {
    running += count(container, pod["status"]["containerStatuses"], fmt::format("spec.containers[{}]", i++));
  }
  i = 0;
  for (const Value& container : spec["initContainers"].items()) {
    Resources now =
        count(container, pod["status"]["initContainerStatuses"], fmt::format("spec.initContainers[{}]", i++));
    if (container["restartPolicy"].str() == "Always") {
      running += now;
      sidecars += now;
      starting.raiseTo(sidecars);
    } else {
      now += sidecars;
      starting.raiseTo(now);
    }
  }
  running.raiseTo(starting);
  applyPodLevel(running, spec["resources"], unreadable);
  addList(running, spec["overhead"], "spec.overhead", unreadable);
  return running;
}

}  // namespace gs::kapi
