#include "kapi/pod_requests.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutant.h"
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
    if (condition["type"].str() == "PodResizePending") { return condition["reason"].str() == "Infeasible"; }
  }
  return false;
}

Resources amountsOf(const View& list) {
  Paths ignored;
  Resources out;
  addList(out, list, "", ignored);
  return out;
}

struct Container {
  enum class Runs : std::uint8_t { Beside, AsSidecar, Before };
  Runs runs{};
  Resources asks;
  // Of a bound pod, as far as its kubelet says it.
  bool is_given = false;           // something: status.resources is there
  std::optional<Resources> given;  // its requests
  std::optional<Resources> promised;

  void read(const View& status) {
    is_given = status["resources"].isObject();
    const View requests = status["resources"]["requests"];
    if (requests.isObject()) { given = amountsOf(requests); }
    if (status["allocatedResources"].isObject()) { promised = amountsOf(status["allocatedResources"]); }
  }
};

/// By name, as kubelets report them.
std::map<std::string_view, View> statusesOf(const View& status) {
  std::map<std::string_view, View> out;
  for (const char* list : {"containerStatuses", "initContainerStatuses"}) {
    for (const View one : status[list].items()) { out.emplace(one["name"].str(), one); }
  }
  return out;
}

/// Its containers, then its init containers, in their order.
std::vector<Container> containersOf(const View& pod, bool is_bound, Paths& unreadable) {
  const auto statuses = is_bound ? statusesOf(pod["status"]) : std::map<std::string_view, View>{};
  std::vector<Container> out;
  for (const char* list : {"containers", "initContainers"}) {
    std::size_t i = 0;
    for (const View container : pod["spec"][list].items()) {
      Container& one = out.emplace_back();
      one.asks =
          effective(container["resources"], fmt::format("spec.{}[{}].resources", list, i++), unreadable);
      const auto status = statuses.find(container["name"].str());
      if (status != statuses.end()) { one.read(status->second); }
      if (std::string_view{list} == "containers") { continue; }
      one.runs =
          container["restartPolicy"].str() == "Always" ? Container::Runs::AsSidecar : Container::Runs::Before;
    }
  }
  return out;
}

/// What they take together at the most, when each takes what `amount` says of it.
template <class AmountOf>
Resources togetherOf(const std::vector<Container>& containers, const AmountOf& amount) {
  Resources running;   // containers and all sidecars
  Resources sidecars;  // started so far
  Resources starting;  // the most that is there at once while init containers run
  for (const Container& container : containers) {
    Resources now = amount(container);
    switch (container.runs) {
      case Container::Runs::Beside: running += now; break;
      case Container::Runs::AsSidecar:
        if (!GS_MUTANT(SidecarsComeFirst)) { running += now; }
        sidecars += now;
        starting.raiseTo(sidecars);
        break;
      case Container::Runs::Before:
        now += sidecars;
        starting.raiseTo(now);
        break;
    }
  }
  running.raiseTo(starting);
  return running;
}

/// What the kubelet promised the container, or, `actual`, what it has given it. Where nothing is said: what
/// the container asks; of a pod whose resize is infeasible nothing.
Resources givenTo(const Container& container, bool actual, bool infeasible) {
  if (actual && container.given) { return *container.given; }
  if (container.promised) { return *container.promised; }
  return infeasible ? Resources{} : container.asks;
}

/// Of a bound pod, which may be in the middle of a resize: the largest of what it asks, was promised and has.
Resources boundOf(const std::vector<Container>& containers, const View& status, bool infeasible) {
  const View given = status["resources"]["requests"];
  const View promised = status["allocatedResources"];
  Resources out;
  if (!infeasible) {
    out = togetherOf(containers, [](const Container& c) { return c.asks; });
  }
  if (given.isObject() && promised.isObject()) {  // of the pod as a whole
    out.raiseTo(amountsOf(given));
    out.raiseTo(amountsOf(promised));
    return out;
  }
  const bool is_said = std::any_of(containers.begin(), containers.end(),
                                   [](const Container& c) { return c.is_given || c.promised; });
  if (!is_said) { return out; }
  for (const bool actual : {false, true}) {
    out.raiseTo(togetherOf(containers, [&](const Container& c) { return givenTo(c, actual, infeasible); }));
  }
  return out;
}

/// As kube-scheduler counted until 1.36: the largest container by container, of those of which the kubelet
/// says what it has given them; of others what they ask.
Resources boundUntil36(const std::vector<Container>& containers, bool infeasible) {
  return togetherOf(containers, [&](const Container& c) {
    if (!c.is_given || c.runs == Container::Runs::Before) { return c.asks; }
    Resources out = infeasible ? Resources{} : c.asks;
    if (c.given) { out.raiseTo(*c.given); }
    if (c.promised) { out.raiseTo(*c.promised); }
    return out;
  });
}

bool isPodLevel(std::string_view name) {
  return name == "cpu" || name == "memory" || name.starts_with("hugepages-");
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

/// spec.resources.requests, and of a bound pod what its status says of them. (Limits: the API server makes
/// requests of those that have none.)
void applyPodLevel(Resources& r, const View& pod, bool is_bound, bool infeasible, Paths& unreadable) {
  std::set<std::string> names;
  const auto read = [&](const View& list, const std::string& path, Paths& into) {
    Resources out;
    for (const auto [name, quantity] : list.members()) {
      if (!isPodLevel(name)) { continue; }
      names.emplace(name);
      if (!addAmount(out, name, quantity)) { into.insert(fmt::format("{}.{}", path, name)); }
    }
    return out;
  };
  Resources level = read(pod["spec"]["resources"]["requests"], "spec.resources.requests", unreadable);
  if (names.empty() || GS_MUTANT(IgnoresPodLevel)) { return; }
  const View status = pod["status"];
  if (is_bound && status["resources"].isObject()) {
    if (infeasible) {
      level = {};
      names.clear();
    }
    Paths ignored;
    level.raiseTo(read(status["resources"]["requests"], "", ignored));
    level.raiseTo(read(status["allocatedResources"], "", ignored));
  }
  for (const auto& name : names) { setAmount(r, name, level); }
}

}  // namespace

PodRequests podRequests(const View& pod, Paths& unreadable) {
  const bool is_bound = !pod["spec"]["nodeName"].str().empty();
  const bool infeasible = is_bound && resizeIsInfeasible(pod);
  const auto containers = containersOf(pod, is_bound, unreadable);
  const auto finish = [&](Resources& r, bool reads_status, Paths& into) {
    applyPodLevel(r, pod, reads_status, infeasible, into);
    addList(r, pod["spec"]["overhead"], "spec.overhead", into);
  };
  PodRequests out;
  out.now = is_bound ? boundOf(containers, pod["status"], infeasible)
                     : togetherOf(containers, [](const Container& c) { return c.asks; });
  finish(out.now, is_bound, unreadable);
  if (!is_bound) { return out; }
  Resources before = boundUntil36(containers, infeasible);
  Paths ignored;
  finish(before, false, ignored);
  if (before != out.now) { out.until_36.push_back(std::move(before)); }
  return out;
}

}  // namespace gs::kapi
