#include "engine/device_claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "base/mix.h"
#include "base/mutant.h"
#include "dra/claims/config.h"
#include "kapi/kinds.h"

namespace gs::engine {
namespace {

/// On one node: some ms, whatever the claims ask for and selectors cost (dra/claims).
constexpr std::uint64_t kMostSteps = 20'000;
/// What it takes to put one device of a node before it.
constexpr std::uint64_t kStepsOfADevice = 256;
/// More than this of a pod is refused: a look at a node would take too long.
constexpr std::size_t kMostText = 16'384;
constexpr std::size_t kMostConstraints = 64;
constexpr std::size_t kMostClaims = 32;
/// Requests, and the ways of those of firstAvailable: each takes at least one device, and no node has so
/// many.
constexpr std::size_t kMostWays = 512;
/// What it takes to read a byte of selectors, as much as an instruction of a pattern, and a way.
constexpr std::uint64_t kStepsOfAByte = 8;
constexpr std::uint64_t kStepsOfAnInstruction = 256;
constexpr std::uint64_t kStepsOfAWay = 64;

std::set<model::DeviceName> namesIn(const std::vector<model::AllocatedDevice>& devices) {
  std::set<model::DeviceName> out;
  for (const auto& one : devices) { out.insert(one.device); }
  return out;
}

/// They say the same to those who allocate.
bool isTheSame(const model::DeviceClass& a, const model::DeviceClass& b) {
  return a.selectors == b.selectors && a.config == b.config;
}

/// What is not served of it though the search would; "": nothing.
std::string unserved(const model::ResourceClaim& claim, std::size_t& text, std::size_t& constraints,
                     std::size_t& ways) {
  constraints += claim.constraints.size();
  for (const auto& request : claim.requests) { ways += request.ways.size(); }
  if (ways > kMostWays) {
    return fmt::format(
        "with it the pod's claims have {} requests and ways of these, and {} are served: ask for "
        "less at once",
        ways, kMostWays);
  }
  for (const auto& request : claim.requests) {
    for (const auto& way : request.ways) {
      for (const auto& selector : way.selectors) { text += selector.size(); }
      if (!way.tolerations.empty()) {
        return fmt::format(
            "request {} tolerates taints of devices, which is not supported by this scheduler yet",
            request.name);
      }
    }
  }
  return "";
}

}  // namespace

/// How much a pod's claims ask, as far as it decides what a look at a node costs.
struct DeviceClaims::Size {
  std::size_t text = 0;  // of selectors, those of classes too
  std::size_t constraints = 0;
  std::size_t ways = 0;
};

/// What the claims of a pod ask for, and the classes that they name; "": none of that name.
struct DeviceClaims::Spec {
  struct Claim {
    std::string name;  // the pod's
    std::vector<model::DevicesRequest> requests;
    std::vector<model::DeviceConstraint> constraints;
    Fixed fixed{};
    model::ObjectKey key{};  // of one that is
    friend bool operator==(const Claim&, const Claim&) = default;
  };
  std::vector<Claim> claims;
  std::map<std::string, model::Ptr<model::DeviceClass>> classes;
  friend bool operator==(const Spec&, const Spec&) = default;

  [[nodiscard]] std::size_t hash() const {
    std::size_t h = claims.size();
    for (const auto& claim : claims) {
      h = mix(h, claim.name);
      for (const auto& one : claim.fixed.value_or(std::vector<model::AllocatedDevice>{})) {
        h = mix(mix(h, one.device.pool), one.device.device);
      }
      for (const auto& constraint : claim.constraints) {
        for (const auto& request : constraint.requests) { h = mix(h, request); }
        for (const auto* name : {&constraint.match, &constraint.distinct}) {
          h = mix(mix(h, name->domain), name->name);
        }
      }
      for (const auto& request : claim.requests) {
        h = mix(h, request.name);
        for (const auto& way : request.ways) {
          h = mix(mix(mix(mix(h, way.name), way.device_class), static_cast<std::size_t>(way.count)),
                  way.all ? 1 : 0);
          for (const auto& selector : way.selectors) { h = mix(h, selector); }
        }
      }
    }
    return h;
  }
  /// 0: that depends on the node.
  [[nodiscard]] std::int64_t most() const {
    std::int64_t out = 0;
    for (const auto& claim : claims) {
      if (claim.fixed) {
        out += static_cast<std::int64_t>(claim.fixed->size());
        continue;
      }
      for (const auto& request : claim.requests) {
        std::int64_t of_it = 0;
        for (const auto& way : request.ways) {
          if (way.all) { return 0; }
          of_it = std::max(of_it, way.count);
        }
        out += std::min(of_it, std::int64_t{model::kMaxResults});
      }
    }
    return out;
  }
};

class DeviceClaims::Selection final : public sched::DeviceSelection {
 public:
  /// `plan`: of the claims whose devices can be chosen; nullopt: of none.
  Selection(Spec spec, Size size, std::optional<dra::ClaimPlan> plan, const DeviceClaims& all)
      : spec_{std::move(spec)}, size_{size}, most_{spec_.most()}, plan_{std::move(plan)}, all_{all} {}

  [[nodiscard]] const Spec& spec() const { return spec_; }
  [[nodiscard]] std::int64_t most() const override { return most_; }

  [[nodiscard]] Picked pick(const model::NodeName& node, const std::vector<int>& free,
                            const std::vector<Joinable>& joinable) const override {
    Picked out;
    if (!addFixed(node, free, joinable, out)) { return out; }
    std::vector<int> rest;
    std::set_difference(free.begin(), free.end(), out.ids.begin(), out.ids.end(), std::back_inserter(rest));
    if (plan_) { addChosen(node, rest, out); }
    std::sort(out.ids.begin(), out.ids.end());
    return out;
  }

  /// By claim; empty: they do not fit.
  /// `steps`: what it took is added.
  [[nodiscard]] std::vector<std::vector<model::AllocatedDevice>> results(const model::NodeName& node,
                                                                         const std::vector<int>& ids,
                                                                         std::uint64_t& steps) const {
    Picked fixed;
    const bool has_fixed = addFixed(node, ids, {}, fixed);
    steps += fixed.steps;
    if (!has_fixed) { return {}; }
    std::vector<int> rest;
    std::set_difference(ids.begin(), ids.end(), fixed.ids.begin(), fixed.ids.end(), std::back_inserter(rest));
    auto chosen = plan_ ? search(node, idsOn(node), rest, steps).results : Results{};
    if (plan_ && chosen.empty()) { return {}; }
    Results out;
    auto next = chosen.begin();
    for (const auto& claim : spec_.claims) { out.push_back(claim.fixed ? *claim.fixed : *next++); }
    return out;
  }

 private:
  using Ids = std::map<model::DeviceName, int>;
  using Results = std::vector<std::vector<model::AllocatedDevice>>;

  [[nodiscard]] Ids idsOn(const model::NodeName& node) const {
    Ids out;
    const model::GpuNodeStatus* status = all_.cache_.status(node);
    if (status == nullptr) { return out; }
    for (const auto& device : status->devices) {
      if (!device.dra.device.empty()) { out.emplace(device.dra, device.id); }
    }
    return out;
  }
  /// What is allocated already; ascending, unique. False: it cannot be had there, and out.lack says why.
  [[nodiscard]] bool addFixed(const model::NodeName& node, const std::vector<int>& free,
                              const std::vector<Joinable>& joinable, Picked& out) const {
    for (const auto& claim : spec_.claims) {
      if (!claim.fixed) { continue; }
      for (const auto& one : *claim.fixed) {
        out.steps += 1 + joinable.size();
        int id = 0;
        std::string lack = whyNot(claim, one.device, node, free, joinable, id);
        if (lack.empty()) {
          out.ids.push_back(id);
          continue;
        }
        out.ids.clear();
        out.lack = fmt::format("claim {} is allocated {}", claim.name, lack);
        return false;
      }
    }
    std::sort(out.ids.begin(), out.ids.end());
    out.ids.erase(std::unique(out.ids.begin(), out.ids.end()), out.ids.end());
    return true;
  }
  /// Why the pod cannot have this device of a claim; "": it can.
  [[nodiscard]] std::string whyNot(const Spec::Claim& claim, const model::DeviceName& device,
                                   const model::NodeName& node, const std::vector<int>& free,
                                   const std::vector<Joinable>& joinable, int& id) const {
    const auto* places = all_.claims_.placesOf(device);
    if (places == nullptr) { return "a device that no node lists as a GPU"; }
    const auto place = places->lower_bound({node, 0});
    if (place == places->end() || place->first != node) { return "devices of another node"; }
    id = place->second;
    for (const auto* other : all_.claims_.holding(device)) {
      if (other->key != claim.key) {
        return fmt::format("a device that claim {} is allocated too", other->key.text());
      }
    }
    if (std::binary_search(free.begin(), free.end(), id)) { return ""; }
    const auto there =
        std::find_if(joinable.begin(), joinable.end(), [&](const auto& d) { return d.id == id; });
    const auto shares = [&](const model::Uid& uid) { return all_.isUser(claim.key, uid); };
    const bool is_open =
        there != joinable.end() && std::all_of(there->holders.begin(), there->holders.end(), shares);
    return is_open ? "" : "a device that others have, or as many pods as may, or that is not healthy";
  }
  /// And what can be chosen, out of `free`; none at all, with the reason, where that does not suffice.
  void addChosen(const model::NodeName& node, const std::vector<int>& free, Picked& out) const {
    const auto ids = idsOn(node);
    auto picked = search(node, ids, free, out.steps);
    if (picked.results.empty()) {
      out.ids.clear();
      out.lack = std::move(picked.brief);
      std::replace(out.lack.begin(), out.lack.end(), ',', ';');  // which parts the reasons of nodes
      out.need = static_cast<std::int64_t>(picked.need);
      out.have = static_cast<std::int64_t>(picked.have);
      return;
    }
    for (const auto& claim : picked.results) {
      for (const auto& device : claim) { out.ids.push_back(ids.at(device.device)); }
    }
  }
  /// `steps`: what it took is added, of sched/policy/meter.h: what is put together, selectors by their length
  /// and by what evaluating them cost, and the search.
  [[nodiscard]] dra::Picked search(const model::NodeName& node, const Ids& ids, const std::vector<int>& free,
                                   std::uint64_t& steps) const {
    auto candidates = all_.devices_.candidates(node);
    for (auto& candidate : candidates.devices) {
      const auto id = ids.find(candidate.name);
      candidate.taken = id == ids.end() || !std::binary_search(free.begin(), free.end(), id->second);
    }
    std::uint64_t left = kMostSteps;
    auto picked = plan_->pick(candidates.devices, left, candidates.trouble);
    steps += candidates.devices.size() * (kStepsOfADevice + size_.text / 2 + 8 * size_.constraints +
                                          size_.ways + all_.devices_.rules()) +
             (kMostSteps - left) + picked.cost;
    return picked;
  }

  const Spec spec_;
  const Size size_;  // with the selectors of classes
  const std::int64_t most_;
  const std::optional<dra::ClaimPlan> plan_;
  const DeviceClaims& all_;
};

void DeviceClaims::podChanged(const model::Pod& pod, bool waits) {
  std::set<model::ObjectKey> names;
  if (waits) {
    for (const auto& one : pod.claims) {
      if (!one.claim.empty()) { names.insert({pod.key.ns, one.claim}); }
    }
  }
  const auto known = named_by_.find(pod.uid);
  if (known == named_by_.end() && names.empty()) { return; }
  if (known != named_by_.end()) {
    if (known->second == names) { return; }
    for (const auto& key : known->second) {
      const auto pods = waiting_.find(key);
      pods->second.erase(pod.uid);
      if (pods->second.empty()) { waiting_.erase(pods); }
    }
  }
  for (const auto& key : names) { waiting_[key].insert(pod.uid); }
  if (names.empty()) {
    named_by_.erase(pod.uid);
    read_.erase(pod.uid);
  } else {
    named_by_[pod.uid] = std::move(names);
  }
}

const DeviceClaims::Pods& DeviceClaims::waitingFor(const model::ObjectKey& claim) const {
  static const Pods kNone;
  const auto it = waiting_.find(claim);
  return it == waiting_.end() ? kNone : it->second;
}

DeviceClaims::Pods DeviceClaims::classChanged(const controller::Change& change) {
  const auto now = change.object.as<model::DeviceClass>();
  const auto known = classes_.find(change.key.name);
  if (now != nullptr && known != classes_.end() && isTheSame(*known->second, *now)) { return {}; }
  if (now != nullptr) {
    classes_.insert_or_assign(change.key.name, now);
  } else if (known != classes_.end()) {
    classes_.erase(known);
  }
  return readAnew();
}

DeviceClaims::Pods DeviceClaims::readAnew() {
  ++class_changes_;
  Pods out;
  for (const auto& [uid, claims] : named_by_) { out.insert(uid); }
  return out;
}

DeviceClaims::Pods DeviceClaims::mayList(kapi::Kind kind, bool may) {
  return unlisted_.mayList(kind, may) ? readAnew() : Pods{};
}

/// Why its claims cannot be read yet; kind "": they can.
sched::Blocked DeviceClaims::missing(const model::Pod& pod) const {
  for (const auto& one : pod.claims) {
    const std::string shown = fmt::format("spec.resourceClaims[{}]", one.name);
    if (one.claim.empty()) {
      return {"ResourceClaimMissing",
              fmt::format("the ResourceClaim of {} is not made from its template yet", shown)};
    }
    const model::ResourceClaim* claim = claims_.find({pod.key.ns, one.claim});
    if (claim == nullptr) {
      if (auto why = unlisted_.why(kapi::kResourceClaim); !why.kind.empty()) { return why; }
      return {"ResourceClaimMissing",
              fmt::format("resourceclaim \"{}\" of {} not found in namespace {}; create it", one.claim, shown,
                          pod.key.ns)};
    }
    if (std::string why = whyTaken(*claim, one, pod.uid); !why.empty()) {
      return {"ResourceClaimTaken", fmt::format("resourceclaim \"{}\" of {} {}", one.claim, shown, why)};
    }
    if (isBegunForOthers(*claim, pod.uid)) {
      return {"ResourceClaimBegun",
              fmt::format("resourceclaim \"{}\" of {} is being allocated for another pod", one.claim, shown)};
    }
  }
  return {};
}

/// Why the pod cannot use it now; "": it can.
std::string DeviceClaims::whyTaken(const model::ResourceClaim& claim, const model::PodClaim& named,
                                   const model::Uid& pod) const {
  if (claim.deleting) { return "is being deleted"; }
  if (named.is_its && claim.owner_pod != pod) { return "was made for another pod"; }
  // By its name any pod may use it. The one that it was made for shares no devices.
  if (named.is_its && claim.allocated && !claim.reserved_for.empty() && !claim.isReservedFor(pod)) {
    return "was made for this pod, and another pod that names it uses it: it is waited for";
  }
  const bool is_admin =
      std::any_of(claim.results.begin(), claim.results.end(), [](const auto& r) { return r.admin; });
  if (claim.allocated && is_admin) {
    return "is allocated with adminAccess, which is not supported by this scheduler";
  }
  if (claim.reserved_for.size() >= model::kMaxReservedFor && !claim.isReservedFor(pod)) {
    return fmt::format("is reserved for {} pods already, and no more are allowed", claim.reserved_for.size());
  }
  return "";
}

bool DeviceClaims::isBegunForOthers(const model::ResourceClaim& claim, const model::Uid& pod) const {
  const auto begun = begun_for_.find(claim.key);
  return begun != begun_for_.end() && (begun->second.size() > 1 || !begun->second.contains(pod)) &&
         !claim.allocated;
}

DeviceClaims::Fixed DeviceClaims::fixedFor(const model::ResourceClaim& claim, const model::PodClaim& named,
                                           const model::Uid& pod) {
  const bool is_its_alone =
      (named.is_its && claim.reserved_for.empty()) || claim.reserved_for == std::vector<model::Uid>{pod};
  return claim.allocated && !is_its_alone ? Fixed{claim.results} : std::nullopt;
}

DeviceClaims::Pods DeviceClaims::begun(const model::Pod& pod) {
  Pods waiting;
  std::vector<model::ObjectKey> shared;
  for (const auto& one : pod.claims) {
    if (one.is_its) { continue; }
    shared.push_back({pod.key.ns, one.claim});
    const model::ResourceClaim* claim = claims_.find(shared.back());
    Pods& pods = begun_for_[shared.back()];
    if (pods.empty() && claim != nullptr && !claim->allocated) {
      const Pods& some = waitingFor(shared.back());
      waiting.insert(some.begin(), some.end());
    }
    pods.insert(pod.uid);
  }
  if (!shared.empty()) { begun_[pod.uid] = std::move(shared); }
  waiting.erase(pod.uid);
  return waiting;
}

DeviceClaims::Pods DeviceClaims::over(const model::Uid& pod) {
  Pods waiting;
  const auto it = begun_.find(pod);
  if (it == begun_.end()) { return waiting; }
  for (const auto& key : it->second) {
    const auto pods = begun_for_.find(key);
    pods->second.erase(pod);
    if (!pods->second.empty()) { continue; }
    begun_for_.erase(pods);
    const model::ResourceClaim* claim = claims_.find(key);
    if (claim != nullptr && claim->allocated) { continue; }
    const Pods& some = waitingFor(key);
    waiting.insert(some.begin(), some.end());
  }
  begun_.erase(it);
  waiting.erase(pod);
  return waiting;
}

bool DeviceClaims::isUser(const model::ObjectKey& claim, const model::Uid& pod) const {
  if (GS_MUTANT(StrangerJoins)) { return true; }
  const auto begun = begun_for_.find(claim);
  if (begun != begun_for_.end() && begun->second.contains(pod)) { return true; }
  const model::ResourceClaim* there = claims_.find(claim);
  // One that nobody uses holds for itself, or for its owner.
  const bool holds = there != nullptr && there->allocated &&
                     (there->isReservedFor(pod) || there->uid == pod || there->owner_pod == pod);
  const model::Pod* known = holds ? nullptr : cache_.pod(pod);
  return holds || (known != nullptr && known->key.ns == claim.ns &&
                   std::any_of(known->claims.begin(), known->claims.end(),
                               [&](const auto& one) { return !one.is_its && one.claim == claim.name; }));
}

DeviceClaims::Spec DeviceClaims::specOf(const model::Pod& pod) const {
  Spec out;
  for (const auto& one : pod.claims) {
    const model::ResourceClaim& claim = *claims_.find({pod.key.ns, one.claim});
    for (const auto& request : claim.requests) {
      for (const auto& way : request.ways) {
        const auto found = classes_.find(way.device_class);
        out.classes[way.device_class] = found == classes_.end() ? nullptr : found->second;
      }
    }
    out.claims.push_back({one.name, claim.requests, claim.constraints, fixedFor(claim, one, pod.uid)});
    if (out.claims.back().fixed) { out.claims.back().key = claim.key; }
  }
  return out;
}

std::shared_ptr<const DeviceClaims::Selection> DeviceClaims::find(const Spec& spec, std::size_t hash) {
  const auto [first, last] = known_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    auto one = it->second.lock();
    if (one != nullptr && one->spec() == spec) { return one; }
  }
  return nullptr;
}

void DeviceClaims::forgetUnused() {
  constexpr std::size_t kFew = 64;
  if (known_.size() < kFew + 2 * used_) { return; }
  std::erase_if(known_, [](const auto& one) { return one.second.expired(); });
  used_ = known_.size();
}

/// Why they are not served, whatever nodes have; kind "": they may be.
sched::Blocked DeviceClaims::refused(const model::Pod& pod, Size& size) const {
  const auto not_served = [](std::string text) {
    return sched::Blocked{"ResourceClaimNotServed", std::move(text)};
  };
  if (pod.claims.size() > kMostClaims) {
    return not_served(
        fmt::format("the pod has {} ResourceClaims and {} are served", pod.claims.size(), kMostClaims));
  }
  bool asks = false;
  std::set<std::string> classes;
  for (const auto& one : pod.claims) {
    const model::ResourceClaim& claim = *claims_.find({pod.key.ns, one.claim});
    if (auto what = unserved(claim, size.text, size.constraints, size.ways); !what.empty()) {
      return not_served(fmt::format("claim {}: {}", one.name, what));
    }
    asks = asks || !claim.requests.empty();
    for (const auto& request : claim.requests) {
      for (const auto& way : request.ways) { classes.insert(way.device_class); }
    }
  }
  for (const auto& name : classes) {
    const auto found = classes_.find(name);
    if (found == classes_.end()) { continue; }
    for (const auto& selector : found->second->selectors) { size.text += selector.size(); }
  }
  if (!asks) { return not_served("the pod's ResourceClaims ask for no device: write a request"); }
  if (size.text > kMostText || size.constraints > kMostConstraints) {
    return not_served(
        fmt::format("the pod's ResourceClaims have {} bytes of selectors and {} constraints, and {} and {} "
                    "are served: ask for less at once",
                    size.text, size.constraints, kMostText, kMostConstraints));
  }
  return {};
}

sched::Objects DeviceClaims::asked(const model::Pod& pod) {
  sched::Objects out;
  if (pod.claims.empty()) { return out; }
  out.no_selection = missing(pod);
  if (!out.no_selection.kind.empty()) { return out; }
  std::vector<std::pair<model::Uid, Fixed>> claims;
  for (const auto& one : pod.claims) {
    const model::ResourceClaim& claim = *claims_.find({pod.key.ns, one.claim});
    claims.emplace_back(claim.uid, fixedFor(claim, one, pod.uid));
  }
  const auto known = read_.find(pod.uid);
  if (known != read_.end() && known->second.claims == claims && known->second.classes == class_changes_) {
    return known->second.said;
  }
  out = read(pod);
  // What is not known to wait is read each time: nobody would say that it does not any more.
  if (named_by_.contains(pod.uid)) { read_[pod.uid] = {std::move(claims), class_changes_, out}; }
  return out;
}

sched::Objects DeviceClaims::read(const model::Pod& pod) {
  sched::Objects out;
  Size size;
  out.no_selection = refused(pod, size);
  steps_ += kStepsOfAWay * size.ways + size.text;
  if (!out.no_selection.kind.empty()) { return out; }
  Spec spec = specOf(pod);
  const std::size_t hash = spec.hash();
  if (auto one = find(spec, hash)) {
    out.selection = std::move(one);
    return out;
  }
  std::vector<model::ResourceClaim> open;  // by the pod's names of them, as texts are to say
  for (std::size_t i = 0; i < pod.claims.size(); ++i) {
    if (spec.claims[i].fixed) { continue; }
    open.push_back(*claims_.find({pod.key.ns, pod.claims[i].claim}));
    open.back().key = {"", pod.claims[i].name};
  }
  std::vector<const model::ResourceClaim*> all;
  all.reserve(open.size());
  for (const auto& claim : open) { all.push_back(&claim); }
  std::optional<dra::ClaimPlan> plan;
  if (!all.empty()) {
    std::size_t patterns = 0;
    auto read = dra::ClaimPlan::read(all, classes_, &patterns);
    steps_ += kStepsOfAByte * size.text + kStepsOfAnInstruction * patterns;
    if (!read) {
      const bool may_come = read.error().code == Code::NotFound;
      if (may_come) { out.no_selection = unlisted_.why(kapi::kDeviceClass); }
      if (!out.no_selection.kind.empty()) { return out; }
      out.no_selection = {may_come ? "DeviceClassMissing" : "ResourceClaimNotServed", read.error().message};
      return out;
    }
    plan = *std::move(read);
  }
  auto made = std::make_shared<const Selection>(std::move(spec), size, std::move(plan), *this);
  forgetUnused();
  known_.emplace(hash, made);
  out.selection = std::move(made);
  return out;
}

std::vector<DeviceClaims::Given> DeviceClaims::give(const model::Pod& pod, const model::NodeName& node,
                                                    const std::vector<int>& ids) {
  std::vector<Given> out;
  const auto selection = asked(pod).selection;
  if (selection == nullptr) { return out; }
  auto results = static_cast<const Selection&>(*selection).results(node, ids, steps_);
  for (std::size_t i = 0; i < results.size(); ++i) {
    Given& one = out.emplace_back();
    one.claim = claims_.findPtr({pod.key.ns, pod.claims[i].claim});
    // What it has for the pod already serves it, by whichever request each device is.
    const bool has_them =
        one.claim->isReservedFor(pod.uid) && namesIn(one.claim->results) == namesIn(results[i]);
    one.devices = has_them ? one.claim->results : results[i];
    one.config = dra::configOf(*one.claim, classes_, one.devices);
  }
  return out;
}

}  // namespace gs::engine
