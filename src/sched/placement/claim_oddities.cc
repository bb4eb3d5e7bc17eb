#include "sched/placement/claim_oddities.h"

#include <fmt/format.h>

#include <iterator>

#include "sched/doors/door.h"
#include "sched/doors/exact.h"

namespace gs::sched {
namespace {

std::string pods(std::size_t count) { return fmt::format("{} pod{}", count, count == 1 ? "" : "s"); }

}  // namespace

void ClaimUsers::Some::add(const std::string& pod, std::size_t gpus) {
  ++total;
  first.emplace(pod, gpus);
  if (first.size() > kNamed) { first.erase(std::prev(first.end())); }
}

std::string ClaimUsers::Some::names(bool with_gpus) const {
  std::string out;
  for (const auto& [pod, gpus] : first) {
    out += (out.empty() ? "" : ", ") + pod + (with_gpus ? fmt::format(" ({})", gpus) : "");
  }
  return total > first.size() ? fmt::format("{} and {} more", out, total - first.size()) : out;
}

void ClaimUsers::add(const model::Pod& pod) {
  if (!pod.bound() || pod.finished() || pod.deleting) { return; }
  if (pod.key.ns != claim_.ns || claimName(pod) != claim_.name) { return; }
  const auto ids = allocatedIds(pod);
  if (!ids || ids->empty()) { return; }
  all_.add(pod.key.name, ids->size());
  if (static_cast<std::int64_t>(ids->size()) != count_) { others_.add(pod.key.name, ids->size()); }
}

std::optional<ClaimOddity> oddityOfCount(const ClaimUsers& users) {
  const std::size_t total = users.others_.total;
  if (total == 0) { return std::nullopt; }
  const char* them = total == 1 ? "it" : "them";
  return ClaimOddity{
      "ClaimCountNotFollowed", fmt::format("spec.devices.count is {}", users.count_),
      fmt::format(
          "spec.devices.count is {} and {} with another number of GPUs run{}: {}; a running pod keeps "
          "what it was given: delete {} and create {} again",
          users.count_, pods(total), total == 1 ? "s" : "", users.others_.names(true), them, them)};
}

std::optional<ClaimOddity> oddityOfDeletion(const ClaimUsers& users) {
  const std::size_t total = users.all_.total;
  if (total == 0) { return std::nullopt; }
  return ClaimOddity{
      "ClaimDeletedInUse", "deleted",
      fmt::format("gpuclaim \"{}\" is deleted while {} {} GPUs by it: {}; what runs keeps its GPUs until it "
                  "ends, and any other pod that names the claim waits: create it again for those",
                  users.claim_.name, pods(total), total == 1 ? "has" : "have", users.all_.names(false))};
}

}  // namespace gs::sched
