// Our side of a drawn case: the objects through their decoders into an engine, as watches would bring them,
// and each node asked as the scheduler asks it. Without calls, threads and clocks.
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "engine/engine.h"
#include "kapi/decode.h"
#include "kapi/kinds.h"
#include "sched/doors/door.h"
#include "sched/placement/explain.h"
#include "sched/placement/fit.h"
#include "test/filters/answer.h"

namespace gs::filters {
namespace {

constexpr Mono kNow{std::chrono::hours{1}};

/// The lists of a case that the engine reads.
const kapi::Kind* kindCalled(std::string_view plural) {
  static const std::array kKinds{kapi::kNode,
                                 kapi::kPod,
                                 kapi::kNamespace,
                                 kapi::kPersistentVolume,
                                 kapi::kPersistentVolumeClaim,
                                 kapi::kStorageClass,
                                 kapi::kCsiNode,
                                 kapi::kCsiDriver,
                                 kapi::kCsiStorageCapacity,
                                 kapi::kVolumeAttachment};
  for (const kapi::Kind& kind : kKinds) {
    if (kind->plural == plural) { return &kind; }
  }
  return nullptr;
}

void feed(engine::Engine& engine, kapi::Kind kind, const json::Value& object) {
  const model::Object decoded = kapi::decodeObject(kind, object);
  engine.apply({kind, decoded.key(), decoded.uid(), decoded, decoded.revision()}, kNow);
}

/// As scheduler/pending/pending_pods.cc makes it.
sched::DoorResult requestOf(engine::Engine& engine, const model::Pod& pod) {
  sched::Objects named = engine.deviceClaims().asked(pod);
  auto volumes = engine.askedOfVolumes(pod);
  named.volumes = std::move(volumes.selection);
  named.no_volumes = std::move(volumes.blocked);
  auto read = sched::readPod(pod, named, engine.doors());
  auto* request = std::get_if<sched::PodRequest>(&read);
  if (request == nullptr) { return read; }
  if (auto blocked = engine.askNear(pod, *request)) { return *std::move(blocked); }
  return read;
}

Reason reasonOf(const sched::Misfit& misfit) {
  return {sched::explainMisfits({misfit}, 1).kind, sched::wordsOf(misfit)};
}

void addNode(const sched::NodeState& node, const sched::PodRequest& request, Answer& out) {
  const auto misfit = sched::misfitOn(node, request);
  if (!misfit) {
    out.feasible.insert(node.node.name.text);
    return;
  }
  Reasons& reasons = out.nodes[node.node.name.text];
  reasons.push_back(reasonOf(*misfit));
  for (const sched::Misfit& also : sched::alsoShort(node, request, *misfit)) {
    reasons.push_back(reasonOf(also));
  }
}

}  // namespace

Answer ourAnswer(const json::Value& question) {
  engine::Engine engine;
  constexpr int kOldest = 33;
  constexpr int kNewest = 37;
  engine.setServer(question["release"].str() == "newest" ? kNewest : kOldest);
  for (const auto& [plural, objects] : question.members()) {
    const kapi::Kind* kind = kindCalled(plural);
    if (kind == nullptr) { continue; }
    for (const json::Value& object : objects.items()) { feed(engine, *kind, object); }
  }
  feed(engine, kapi::kPod, question["pod"]);
  engine.synced(kNow);

  const model::Pod pod = kapi::decodePod(question["pod"]);
  const sched::DoorResult read = requestOf(engine, pod);
  Answer out;
  if (const auto* blocked = std::get_if<sched::Blocked>(&read)) {
    if (blocked->kind.starts_with("Unsupported")) {
      out.unserved = blocked->text;
    } else {
      out.pod.push_back({blocked->kind, blocked->text});
    }
    return out;
  }
  const sched::Ledger& ledger = engine.ledger();
  for (sched::Ledger::NodeIndex i = 0; i < ledger.size(); ++i) {
    if (ledger.at(i).exists) { addNode(ledger.at(i), std::get<sched::PodRequest>(read), out); }
  }
  return out;
}

}  // namespace gs::filters
