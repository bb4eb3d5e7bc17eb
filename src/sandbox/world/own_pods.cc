#include "sandbox/world/own_pods.h"

#include <fmt/core.h>

#include <chrono>
#include <utility>

#include "base/check.h"
#include "json/value.h"
#include "kapi/time.h"

namespace gs::sandbox {
namespace {

using json::Array;
using json::Object;
using json::Value;

constexpr const char* kNamespace = "default";
constexpr const char* kContainer = "scheduler";
constexpr const char* kPods = "/api/v1/namespaces/default/pods";
constexpr std::uint64_t kLate = 2000;  // milliseconds that a kubelet's report takes at most

Value podNamed(const std::string& name) {
  return Object{
      {"apiVersion", "v1"},
      {"kind", "Pod"},
      {"metadata", Object{{"name", name}, {"namespace", kNamespace}}},
      {"spec", Object{{"schedulerName", "nobody"},
                      {"containers", Array{Object{{"name", kContainer}, {"image", "gpu-scheduler"}}}}}}};
}

}  // namespace

OwnPods::OwnPods(EventQueue& queue, apiserver::Api& api, Rng rng, std::function<void()> changed)
    : queue_{queue}, api_{api}, rng_{rng}, changed_{std::move(changed)} {}

controller::HolderContainer OwnPods::began(ReplicaId id, Wall when) {
  const auto [at, is_new] = pods_.try_emplace(id);
  Own& own = at->second;
  own.began = when;
  if (!is_new) { return own.container; }
  const std::string name = fmt::format("own-{}", id);
  const auto answer = api_.handle({"POST", kPods, "application/json", podNamed(name)}, queue_.now());
  GS_CHECK(answer.code == 201, "refused: {}", json::print(answer.body));
  own.container = {
      {kNamespace, name}, model::Uid{std::string{answer.body["metadata"]["uid"].str()}}, kContainer};
  changed_();
  return own.container;
}

void OwnPods::ended(ReplicaId id, Wall when) {
  const auto late = std::chrono::milliseconds{rng_.below(kLate)};
  queue_.after(late, [this, own = pods_.at(id), when] { report(own, when); });
}

void OwnPods::report(const Own& own, Wall ended) {
  const Value run = Object{{"exitCode", 137},
                           {"reason", "Error"},
                           {"startedAt", kapi::timeText(own.began)},
                           {"finishedAt", kapi::timeText(ended)}};
  const Value status = Object{{"name", kContainer},
                              {"image", "gpu-scheduler"},
                              {"imageID", ""},
                              {"ready", false},
                              {"restartCount", 1},
                              {"state", Object{{"waiting", Object{{"reason", "CrashLoopBackOff"}}}}},
                              {"lastState", Object{{"terminated", run}}}};
  const Value patch = Object{{"status", Object{{"containerStatuses", Array{status}}}}};
  const std::string path = fmt::format("{}/{}/status", kPods, own.container.pod.name);
  // The pod may be gone: the server's state went back.
  (void)api_.handle({"PATCH", path, "application/merge-patch+json", patch}, queue_.now());
  changed_();
}

}  // namespace gs::sandbox
