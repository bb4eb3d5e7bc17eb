// The pods that a job has at a time.
#include <fmt/format.h>

#include <algorithm>

#include "sandbox/controllers/job_turn.h"
#include "sandbox/controllers/objects.h"
#include "sandbox/controllers/pods.h"

namespace gs::sandbox::controllers {
namespace {

using json::Value;

constexpr const char* kIndexKey = "batch.kubernetes.io/job-completion-index";
constexpr std::int64_t kMostMadeAtOnce = 500;
constexpr Duration kFirstBackoff = std::chrono::seconds{10};
constexpr Duration kLongestBackoff = std::chrono::minutes{10};

/// When its containers ended; where nobody says that, when it was made.
std::string_view endOf(const Value& pod) {
  std::string_view last;
  for (const Value& c : pod["status"]["containerStatuses"].items()) {
    last = std::max(last, c["state"]["terminated"]["finishedAt"].str());
  }
  return last.empty() ? pod["metadata"]["creationTimestamp"].str() : last;
}

void addIndexEnv(Value& spec) {
  const Value variable = json::Object{
      {"name", "JOB_COMPLETION_INDEX"},
      {"valueFrom", json::Object{{"fieldRef", json::Object{{"fieldPath", fmt::format("metadata.labels['{}']",
                                                                                     kIndexKey)}}}}}};
  for (const char* part : {"containers", "initContainers"}) {
    if (!spec[part].isArray()) { continue; }
    for (Value& container : spec.child(part).array()) {
      const auto& env = container["env"].items();
      if (std::any_of(env.begin(), env.end(),
                      [&](const Value& v) { return v["name"] == variable["name"]; })) {
        continue;
      }
      container.child("env").array().push_back(variable);
    }
  }
}

}  // namespace

/// How long no pod is made because the last ones failed: 10 s, 20 s, 40 s, ... after the last failure.
Duration JobTurn::backoff() const {
  std::vector<std::pair<std::string_view, bool>> ends;
  for (const auto& pod : pods_) {
    if (hasEnded(*pod)) { ends.emplace_back(endOf(*pod), (*pod)["status"]["phase"].str() == "Failed"); }
  }
  std::sort(ends.begin(), ends.end());
  int failures = 0;
  for (auto it = ends.rbegin(); it != ends.rend() && it->second; ++it) { ++failures; }
  if (failures == 0) { return {}; }
  const Duration delay = std::min(kFirstBackoff * (1 << std::min(failures - 1, 10)), kLongestBackoff);
  return delay - since(ends.back().first, client_.now());
}

void JobTurn::keepPods() {
  std::int64_t active = 0;
  std::int64_t going = 0;
  for (const auto& pod : pods_) {
    active += isActive(*pod) ? 1 : 0;
    going += !hasEnded(*pod) && isDeleting(*pod) ? 1 : 0;
  }
  std::int64_t wanted = spec_["parallelism"].intOr(0);
  if (!spec_["completions"].isNull()) {
    wanted = std::min(wanted, spec_["completions"].intOr(0) - succeededSoFar());
  } else if (succeededSoFar() > 0) {
    wanted = std::min(active, wanted);  // one that succeeded is enough, the others come to their end
  }
  if (indexed_) { return keepIndexes(wanted); }
  if (active > wanted) { return removeActive(static_cast<std::size_t>(active - wanted), true); }
  // with this policy a pod that is being deleted keeps its place until it is gone
  if (spec_["podReplacementPolicy"].str() == "Failed") { active += going; }
  create(wanted - active);
}

void JobTurn::create(std::int64_t how_many) {
  if (how_many <= 0) { return; }
  if (const Duration wait = backoff(); wait > Duration{}) { return again_.lookAfter(wait); }
  for (std::int64_t i = 0; i < std::min(how_many, kMostMadeAtOnce); ++i) {
    if (!createOne(std::nullopt)) { return; }
  }
  if (how_many > kMostMadeAtOnce) { again_.lookAfter(std::chrono::seconds{1}); }
}

/// One pod for each index; the lowest ones first.
void JobTurn::keepIndexes(std::int64_t wanted) {
  Indexes taken = completed_;
  std::int64_t active = 0;
  for (const auto& pod : pods_) {
    if (hasEnded(*pod)) { continue; }
    const auto index = indexOf(*pod);
    const bool keeps_place = isActive(*pod) || spec_["podReplacementPolicy"].str() == "Failed";
    if (isActive(*pod) && (!index || taken.contains(*index))) {
      removePod(*pod, true);
    } else if (index && keeps_place) {
      taken.insert(*index);
      ++active;
    }
  }
  if (active > wanted) { return removeActive(static_cast<std::size_t>(active - wanted), true); }
  if (active == wanted) { return; }
  if (const Duration wait = backoff(); wait > Duration{}) { return again_.lookAfter(wait); }
  std::int64_t made = 0;
  for (std::int64_t i = 0; i < spec_["completions"].intOr(0) && active < wanted; ++i) {
    if (taken.contains(i)) { continue; }
    if (made++ == kMostMadeAtOnce) { return again_.lookAfter(std::chrono::seconds{1}); }
    if (!createOne(i)) { return; }
    ++active;
  }
}

bool JobTurn::createOne(std::optional<std::int64_t> index) {
  Value pod = podOf(job_);
  Value& meta = pod.child("metadata");
  meta.set("generateName", nameOf(job_) + "-");
  if (index) {
    const std::string text = std::to_string(*index);
    meta.set("generateName", fmt::format("{}-{}-", nameOf(job_), text));
    meta.child("annotations").set(kIndexKey, text);
    meta.child("labels").set(kIndexKey, text);
    pod.child("spec").set("hostname", fmt::format("{}-{}", nameOf(job_), text));
    addIndexEnv(pod.child("spec"));
  }
  const auto made = client_.createPod(job_, std::move(pod));
  again_.failed = again_.failed || made == Client::Made::Refused;
  return made == Client::Made::Yes || made == Client::Made::Later;
}

void JobTurn::removeActive(std::size_t how_many, bool forgotten) {
  std::vector<apiserver::ObjectPtr> active;
  for (const auto& pod : pods_) {
    if (isActive(*pod)) { active.push_back(pod); }
  }
  sortForRemoval(active, {}, client_.now());
  active.resize(std::min(how_many, active.size()));
  for (const auto& pod : active) { removePod(*pod, forgotten); }
}

void JobTurn::removePod(const json::Value& pod, bool forgotten) {
  const auto response = client_.remove(pod);
  if (!succeeded(response) && response.code != 404) {
    again_.failed = true;
    return;
  }
  for (Jobs::Record* record : {&record_, &kept_}) {
    if (!forgotten) { break; }
    record->counted.insert(uidOf(pod));
    record->alive.erase(uidOf(pod));
  }
  client_.tell(job_, "Normal", "SuccessfulDelete", fmt::format("Deleted pod: {}", nameOf(pod)));
}

}  // namespace gs::sandbox::controllers
