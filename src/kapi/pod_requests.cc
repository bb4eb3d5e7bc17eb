#include "kapi/pod_requests.h"

#include <fmt/core.h>

#include "kapi/fields.h"

namespace gs::kapi {
namespace {

using json::View;
using model::Resources;
using Paths = std::set<std::string>;

void addList(Resources& to, const View& list, const std::string& path, Paths& unreadable) {
  for (const auto [name, quantity] : list.members()) {
    if (!addAmount(to, name, quantity)) { unreadable.insert(fmt::format("{}.{}", path, name)); }
  }
}

/// `resources` has requests and limits; a limit stands in where its request is missing.
Resources effective(const View& resources, const std::string& path, Paths& unreadable) {
  Resources out;
  addList(out, resources["requests"], path + ".requests", unreadable);
  for (const auto [name, quantity] : resources["limits"].members()) {
    if (resources["requests"].find(name)) { continue; }
    if (!addAmount(out, name, quantity)) { unreadable.insert(fmt::format("{}.limits.{}", path, name)); }
  }
  return out;
}

bool resizeIsInfeasible(const View& pod) {
  for (const View condition : pod["status"]["conditions"].items()) {
    if (condition["type"].str() == "PodResizePending" && condition["reason"].str() == "Infeasible") {
      return true;
    }
  }
  return false;
}

View statusOf(const View& statuses, std::string_view container) {
  for (const View status : statuses.items()) {
    if (status["name"].str() == container) { return status; }
  }
  return {};
}

/// What one container counts, given what the kubelet says that it has.
class ContainerCount {
 public:
  ContainerCount(const View& pod, Paths& unreadable)
      : infeasible_{resizeIsInfeasible(pod)}, unreadable_{unreadable} {}

  Resources operator()(const View& container, const View& statuses, const std::string& path) const {
    Resources asks = effective(container["resources"], path + ".resources", unreadable_);
    const View status = statusOf(statuses, container["name"].str());
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

bool isPodLevel(std::string_view name) {
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

void applyPodLevel(Resources& r, const View& resources, Paths& unreadable) {
  const Resources level = effective(resources, "spec.resources", unreadable);
  for (const char* list : {"requests", "limits"}) {
    for (const auto [name, quantity] : resources[list].members()) {
      if (isPodLevel(name)) { setAmount(r, std::string{name}, level); }
    }
  }
}

}  // namespace

Resources podRequests(const View& pod, Paths& unreadable) {
  const View spec = pod["spec"];
  const ContainerCount count{pod, unreadable};
  Resources running;   // containers and all sidecars
  Resources sidecars;  // started so far
  Resources starting;  // the most that is there at once while init containers run
  std::size_t i = 0;
  for (const View container : spec["containers"].items()) {
    running += count(container, pod["status"]["containerStatuses"], fmt::format("spec.containers[{}]", i++));
  }
  i = 0;
  for (const View container : spec["initContainers"].items()) {
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
