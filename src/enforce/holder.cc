#include "enforce/holder.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/ascii.h"
#include "base/because.h"
#include "base/mutant.h"
#include "base/utf8.h"
#include "enforce/device_table.h"
#include "model/annotations.h"

namespace gs::enforce {
namespace {

constexpr std::size_t kMostSaid = 2048;  // devices in an annotation
constexpr std::size_t kShown = 200;

const std::string* annotation(const rpc::nri::PodSandbox& pod, const char* key) {
  const auto it = pod.annotations.find(key);
  return it == pod.annotations.end() ? nullptr : &it->second;
}

std::string shown(const std::string* said) {
  return said == nullptr ? "" : std::string{utf8Prefix(*said, kShown)};
}

tl::unexpected<Refusal> unknownYet(const std::string* said, const NodeRecord& record,
                                   const std::string& label) {
  return refuse(Reason::NotKnown,
                fmt::format("{}: its pod was given GPUs ({}='{}'), and the agent of node {} does not know it "
                            "yet; the kubelet tries again",
                            label, model::kAllocatedKey, shown(said), record.node));
}

/// Another pod's exclusive lease holds one of them: the record contradicts itself.
std::optional<Holder> contradiction(const Holding& holding, const NodeRecord& record, const model::Uid& uid) {
  if (holding.is_shared) { return std::nullopt; }
  for (const model::DeviceId id : holding.devices) {
    if (auto other = heldByOther(record, id, uid)) { return other; }
  }
  return std::nullopt;
}

tl::expected<Held, Refusal> verified(const Holding& holding, const std::string* said,
                                     const NodeRecord& record, const std::string& label) {
  if (said == nullptr && holding.devices.empty()) { return Held{}; }
  const auto devices = devicesSaid(said == nullptr ? std::string_view{} : *said, record.node);
  if (!devices || *devices != holding.devices) {
    return refuse(
        Reason::Differs,
        fmt::format("{}: its pod's sandbox says {}='{}', and the leases of node {} give the pod {}; "
                    "delete the pod when this stays",
                    label, model::kAllocatedKey, shown(said), record.node, listed(holding.devices)));
  }
  return Held{holding.devices};
}

}  // namespace

Result<std::vector<model::DeviceId>> devicesSaid(std::string_view annotation, std::string_view node) {
  if (const auto colon = annotation.find(':'); colon != std::string_view::npos) {
    const std::string_view said = trim(annotation.substr(0, colon));
    if (said != node) {
      return fail(Code::Invalid, fmt::format("'{}' is of node '{}' and not of '{}'",
                                             annotation.substr(0, kShown), said.substr(0, kShown), node));
    }
    annotation.remove_prefix(colon + 1);
  }
  const std::vector<std::string> words = commaList(annotation);
  if (words.empty() || words.size() > kMostSaid) {
    return fail(Code::Invalid,
                fmt::format("'{}' names {} devices", annotation.substr(0, kShown), words.size()));
  }
  std::vector<model::DeviceId> out;
  for (const std::string& word : words) {
    const auto id = model::parseDeviceId(word);
    if (!id) { return because(id.error()); }
    out.push_back(*id);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

tl::expected<Held, Refusal> heldBy(const rpc::nri::PodSandbox& pod, const NodeRecord& record,
                                   const std::string& label) {
  const std::string* said = annotation(pod, model::kAllocatedKey);
  if (GS_MUTANT(TrustsAnnotation) && said != nullptr) {
    if (auto devices = devicesSaid(*said, record.node)) { return Held{std::move(*devices)}; }
  }
  const model::Uid uid{pod.uid};
  const auto it = record.holdings.find(uid);
  if (it == record.holdings.end()) {
    if (said != nullptr || annotation(pod, model::kReservationKey) != nullptr) {
      return unknownYet(said, record, label);
    }
    return Held{};
  }
  const Holding& holding = it->second;
  if (holding.hold != Hold::Verified) {
    const bool is_late = holding.hold == Hold::Unverified;
    if (GS_MUTANT(AnswersBeforeLease) && is_late) { return verified(holding, said, record, label); }
    return refuse(is_late ? Reason::Unverified : Reason::Refuted, fmt::format("{}: {}", label, holding.why));
  }
  if (const auto other = contradiction(holding, record, uid)) {
    return refuse(
        Reason::HeldByOther,
        fmt::format("{}: its pod has GPUs {}, and GPU {} is held by a lease of pod uid '{}'; delete "
                    "the pod when this stays",
                    label, listed(holding.devices), print(other->device), other->pod.text));
  }
  return verified(holding, said, record, label);
}

}  // namespace gs::enforce
