#include "sandbox/controllers/pods.h"

#include <algorithm>
#include <bit>
#include <charconv>

#include "kapi/time.h"
#include "sandbox/controllers/objects.h"

namespace gs::sandbox::controllers {
namespace {

using json::Value;

constexpr const char* kCost = "controller.kubernetes.io/pod-deletion-cost";

int phaseRank(const Value& pod) {
  const auto phase = pod["status"]["phase"].str();
  return phase == "Pending" ? 0 : phase == "Running" ? 2 : 1;
}

std::int64_t costOf(const Value& pod) {
  const auto text = annotation(pod, kCost);
  std::int64_t cost = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), cost);
  return cost;
}

std::int64_t restartsOf(const Value& pod) {
  std::int64_t most = 0;
  for (const Value& c : pod["status"]["containerStatuses"].items()) {
    most = std::max(most, c["restartCount"].intOr(0));
  }
  return most;
}

std::string_view readyTime(const Value& pod) {
  return conditionOf(pod["status"], "Ready")["lastTransitionTime"].str();
}

/// 0 for the future, else by powers of two.
int magnitude(Duration age) {
  const auto ns = age.count();
  return ns <= 0 ? 0 : static_cast<int>(std::bit_width(static_cast<std::uint64_t>(ns)));
}

int crowdOf(const Value& pod, const std::map<std::string, int>& crowd) {
  const auto at = crowd.find(std::string{pod["spec"]["nodeName"].str()});
  return at == crowd.end() ? 0 : at->second;
}

bool goesFirst(const Value& a, const Value& b, const std::map<std::string, int>& crowd, Now now) {
  const bool homeless_a = a["spec"]["nodeName"].str().empty();
  const bool homeless_b = b["spec"]["nodeName"].str().empty();
  if (homeless_a != homeless_b) { return homeless_a; }
  if (phaseRank(a) != phaseRank(b)) { return phaseRank(a) < phaseRank(b); }
  if (isReady(a) != isReady(b)) { return !isReady(a); }
  if (costOf(a) != costOf(b)) { return costOf(a) < costOf(b); }
  if (crowdOf(a, crowd) != crowdOf(b, crowd)) { return crowdOf(a, crowd) > crowdOf(b, crowd); }
  if (isReady(a)) {
    const int ready_a = magnitude(since(readyTime(a), now));
    const int ready_b = magnitude(since(readyTime(b), now));
    if (ready_a != ready_b) { return ready_a < ready_b; }
  }
  if (restartsOf(a) != restartsOf(b)) { return restartsOf(a) > restartsOf(b); }
  const int age_a = magnitude(since(a["metadata"]["creationTimestamp"].str(), now));
  const int age_b = magnitude(since(b["metadata"]["creationTimestamp"].str(), now));
  return age_a != age_b ? age_a < age_b : uidOf(a) < uidOf(b);
}

}  // namespace

bool hasEnded(const json::Value& pod) {
  const auto phase = pod["status"]["phase"].str();
  return phase == "Succeeded" || phase == "Failed";
}

bool isActive(const json::Value& pod) { return !hasEnded(pod) && !isDeleting(pod); }

bool isReady(const json::Value& pod) { return hasCondition(pod["status"], "Ready"); }

bool isRunningAndReady(const json::Value& pod) {
  return pod["status"]["phase"].str() == "Running" && isReady(pod);
}

Duration untilAvailable(const json::Value& pod, std::int64_t min_ready, Now now) {
  return std::chrono::seconds{min_ready} - since(readyTime(pod), now);
}

bool isAvailable(const json::Value& pod, std::int64_t min_ready, Now now) {
  return isReady(pod) && (min_ready == 0 || untilAvailable(pod, min_ready, now) <= Duration{});
}

void sortForRemoval(std::vector<apiserver::ObjectPtr>& pods, const std::map<std::string, int>& crowd,
                    Now now) {
  std::sort(pods.begin(), pods.end(),
            [&](const auto& a, const auto& b) { return goesFirst(*a, *b, crowd, now); });
}

json::Value podOf(const json::Value& owner) {
  const Value& made_from = owner["spec"]["template"];
  Value meta = json::Object{{"ownerReferences", json::Array{controllerReference(owner)}}};
  for (const char* field : {"labels", "annotations", "finalizers"}) {
    if (const Value* value = made_from["metadata"].find(field)) { meta.set(field, *value); }
  }
  return json::Object{
      {"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", std::move(meta)}, {"spec", made_from["spec"]}};
}

}  // namespace gs::sandbox::controllers
