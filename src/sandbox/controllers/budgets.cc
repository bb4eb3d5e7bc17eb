#include "sandbox/controllers/budgets.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "apiserver/meta/label_selector.h"
#include "kapi/time.h"
#include "sandbox/controllers/objects.h"
#include "sandbox/controllers/pods.h"

namespace gs::sandbox::controllers {
namespace {

using namespace std::chrono_literals;
using apiserver::ObjectPtr;
using json::Value;
using Pods = std::vector<ObjectPtr>;

constexpr Duration kLongestDisruption = 2min;  // an evicted pod is deleted by then, or counts again

struct Count {
  std::int64_t expected = 0;
  std::int64_t desired = 0;
  std::int64_t healthy = 0;
};

/// nullopt: it does not say how many pods it is for.
std::optional<std::int64_t> scaleOf(Client& client, const std::string& ns, const Value& owner) {
  const auto kind = owner["kind"].str();
  const char* resource = kind == "ReplicaSet"    ? kReplicaSets
                         : kind == "StatefulSet" ? kStatefulSets
                         : kind == "Deployment"  ? kDeployments
                                                 : nullptr;
  if (resource == nullptr) { return std::nullopt; }
  const ObjectPtr there = client.find(resource, ns, std::string{owner["name"].str()});
  if (!there || uidOf(*there) != owner["uid"].str()) { return std::nullopt; }
  const Value& above = controllerOf(*there);
  if (above["kind"].str() == "Deployment") { return scaleOf(client, ns, above); }
  return wantedReplicas(*there);
}

/// Of the controllers of these pods; pods without one count for nothing. nullopt: of one it is not known, and
/// `unknown` is its pod.
std::optional<std::int64_t> scaleOf(Client& client, const Pods& pods, std::string& unknown) {
  std::int64_t sum = 0;
  std::set<std::string> seen;
  for (const ObjectPtr& pod : pods) {
    const Value& owner = controllerOf(*pod);
    if (owner.isNull() || !seen.emplace(owner["uid"].str()).second) { continue; }
    const auto scale = scaleOf(client, std::string{(*pod)["metadata"]["namespace"].str()}, owner);
    if (!scale) {
      unknown = nameOf(*pod);
      return std::nullopt;
    }
    sum += *scale;
  }
  return sum;
}

/// Those that were to be deleted a moment ago, and are not yet.
Value disruptedOf(const Value& budget, const Pods& pods, Now now, Again& again) {
  Value out = json::Object{};
  for (const ObjectPtr& pod : pods) {
    const Value* since_when = budget["status"]["disruptedPods"].find(nameOf(*pod));
    if (since_when == nullptr || isDeleting(*pod)) { continue; }
    const Duration left = kLongestDisruption - since(since_when->str(), now);
    if (left <= Duration{}) { continue; }
    again.lookAfter(left);
    out.set(nameOf(*pod), *since_when);
  }
  return out;
}

std::optional<Count> countOf(Client& client, const Value& spec, const Pods& pods, std::string& unknown) {
  Count out;
  const Value& least = spec["minAvailable"];
  const Value& most = spec["maxUnavailable"];
  if (most.isNull() && least.isInt()) {
    out.expected = static_cast<std::int64_t>(pods.size());
    out.desired = least.intOr(0);
  } else if (!most.isNull() || !least.isNull()) {
    const auto scale = scaleOf(client, pods, unknown);
    if (!scale) { return std::nullopt; }
    out.expected = *scale;
    const auto part = apiserver::amountOf(most.isNull() ? least : most, *scale, apiserver::Round::Up);
    out.desired = most.isNull() ? part : std::max<std::int64_t>(0, *scale - part);
  }
  return out;
}

/// Its one condition; the time is that of the change.
void setAllowed(Value& status, bool allowed, const char* reason, const std::string& message, Now now) {
  const Value& had = conditionOf(status, "DisruptionAllowed");
  const char* is = allowed ? "True" : "False";
  const Value when = had["status"].str() == is ? had["lastTransitionTime"] : Value{kapi::timeText(now.wall)};
  Value next = json::Object{{"type", "DisruptionAllowed"},
                            {"status", is},
                            {"lastTransitionTime", when},
                            {"reason", reason},
                            {"message", message}};
  const Value& seen = status["observedGeneration"];
  if (!seen.isNull()) { next.set("observedGeneration", seen); }
  dropCondition(status, "DisruptionAllowed");
  status.child("conditions").array().push_back(std::move(next));
}

}  // namespace

Again syncBudget(Client& client, const json::Value& budget) {
  const Value& spec = budget["spec"];
  Pods pods = client.all(kPods, std::string{budget["metadata"]["namespace"].str()});
  std::erase_if(pods, [&](const ObjectPtr& pod) {
    return !apiserver::selects(spec["selector"], (*pod)["metadata"]["labels"]);
  });
  Again again;
  Value next = budget;
  Value& status = next.child("status");
  std::string unknown;
  if (auto count = countOf(client, spec, pods, unknown)) {
    Value disrupted = disruptedOf(budget, pods, client.now(), again);
    count->healthy = std::count_if(pods.begin(), pods.end(), [&](const ObjectPtr& pod) {
      return isReady(*pod) && !isDeleting(*pod) && disrupted.find(nameOf(*pod)) == nullptr;
    });
    const auto allowed = count->expected > 0 ? std::max<std::int64_t>(0, count->healthy - count->desired) : 0;
    status.set("currentHealthy", count->healthy);
    status.set("desiredHealthy", count->desired);
    status.set("expectedPods", count->expected);
    status.set("disruptionsAllowed", allowed);
    status.set("observedGeneration", budget["metadata"]["generation"]);
    status.erase("disruptedPods");
    if (!disrupted.members().empty()) { status.set("disruptedPods", std::move(disrupted)); }
    setAllowed(status, allowed > 0, allowed > 0 ? "SufficientPods" : "InsufficientPods", "", client.now());
  } else {
    status.set("disruptionsAllowed", 0);
    setAllowed(status, false, "SyncFailed", fmt::format("found no controllers for pod \"{}\"", unknown),
               client.now());
  }
  if (next != budget && !succeeded(client.replaceStatus(next))) { again.failed = true; }
  return again;
}

}  // namespace gs::sandbox::controllers
