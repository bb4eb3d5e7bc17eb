// Whether the ResourceClaims of one pod can be allocated on one node, and by which of its devices.
//
// Answers as kube-scheduler of Kubernetes 1.37 does (k8s.io/dynamic-resource-allocation/structured with the
// features that are on by default; test/dra/compare-allocations compares the two):
//   - ExactCount and All; firstAvailable, whose ways are tried in their order, and whose devices have the
//     request "request/way"; matchAttribute and distinctAttribute; taints of devices, and tolerations.
//   - All claims together: a choice for one is taken back when another one finds nothing. A device is given
//     once in a pod. A claim without requests is allocated no device.
//   - All wants every device that matches: none may be taken or tainted, and there is at least one.
//   - A selector that fails on a device that is looked at ends the search; so does a constraint that a
//     device of All does not meet, and so do more than 32 devices of a claim. Kubernetes gives the pod
//     nothing then.
// Order: Kubernetes takes the first devices that will do; this takes the last. Two schedulers in a cluster
// then seldom choose the same. It looks at the devices from the end of their list to its start: by their
// order it is decided which of them a selector that fails on some is asked about.
// Differs from Kubernetes, and says so: admin access, capacity, derived attributes and what cel/selector.h
// does not serve are refused; a device with `unsupported` counts as taken; an attribute whose value is not
// served (a list) meets a constraint only where no other device has to meet it too.
// Bounded: it gives up when the steps are used up. (Kubernetes gives up after ten seconds.) A selector that
// costs more uses more of them. All selectors of the claims and their classes may have patterns of
// cel::kMaxPatterns together, and each text is compiled once, however many requests have it.
// Immutable; copies share what was read; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/dra.h"
#include "model/object.h"

namespace gs::dra {

/// A device of the node, of a pool that is whole.
struct Candidate {
  model::DeviceName name;
  const model::SliceDevice* device = nullptr;  // outlives the call
  bool taken = false;                          // an allocated claim or a lease has it
  std::vector<model::Taint> laid{};            // on it by DeviceTaintRules, besides its own
};

/// By name.
using Classes = std::map<std::string, model::Ptr<model::DeviceClass>, std::less<>>;

/// Why a node cannot serve the claims.
enum class Lack : std::uint8_t {
  None,      // it can
  Devices,   // a request finds too few devices, whatever the others take
  Together,  // each request by itself could be served, but not all of them
  Steps,     // not decided within the steps
  Fault,     // a rule is broken that ends the search: see above
};

struct Picked {
  Lack lack = Lack::None;
  /// By claim, in their order, and in it by request. Empty unless they fit.
  std::vector<std::vector<model::AllocatedDevice>> results{};
  std::string why{};  // "request gpus of claim ns/a needs 2 devices of class gpu.nvidia.com, 1 is free"
  /// The same in words that are one for all nodes that lack the same, no longer than some hundred characters;
  /// and, of one request for a number of devices, that number, and how many are free (0, 0: it is no such
  /// lack).
  std::string brief{};
  std::size_t need = 0;
  std::size_t have = 0;
  std::uint64_t cost = 0;  // of evaluating selectors: no more than the steps allow, but for one of them
  [[nodiscard]] bool fits() const { return lack == Lack::None; }
};

struct Plan;

/// The claims of a pod that are not allocated yet, read once for all nodes.
class ClaimPlan {
 public:
  /// Error: why no node can serve them as they are written. NotFound: a class is missing, which may come.
  /// Invalid: they ask for what is not served, or for more than 32 devices in one claim.
  /// `patterns`: what patterns took to compile, at most cel::kMaxPatterns, is added; nullptr: nobody counts.
  [[nodiscard]] static Result<ClaimPlan> read(const std::vector<const model::ResourceClaim*>& claims,
                                              const Classes& classes, std::size_t* patterns = nullptr);

  /// `devices`: in the order in which kube-scheduler looks: by driver, pool, slice's name, and place in it.
  /// `steps_left`: how many devices may be looked at and selectors evaluated yet; what was used is taken off.
  /// Of a selector that costs much that is several.
  /// `trouble`: why a pool of the node has no devices here, though it lists some; "": none is so.
  [[nodiscard]] Picked pick(const std::vector<Candidate>& devices, std::uint64_t& steps_left,
                            std::string_view trouble = {}) const;

 private:
  explicit ClaimPlan(std::shared_ptr<const Plan> plan) : plan_{std::move(plan)} {}

  std::shared_ptr<const Plan> plan_;
};

}  // namespace gs::dra
