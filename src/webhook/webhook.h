// The webhook as a machine: its certificate (certificates.h), and, where limits may be injected, the
// GpuClaims that there are, and whether a DRA driver serves limits of nvidia.com/gpu. Reviews are answered
// beside it, by handler.h, on any thread.
//
// Every replica works; nobody leads. What it keeps of a claim is its count. One thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "admission/certificates.h"
#include "base/random.h"
#include "base/readiness.h"
#include "controller/watches.h"
#include "model/claim.h"

namespace gs::webhook {

/// How many nvidia.com/gpu a pod of the claim is limited to: of those that are Exclusive and valid.
[[nodiscard]] std::optional<std::int64_t> limitOf(const model::GpuClaim& claim);

/// Whether pods of Exclusive claims are given limits of nvidia.com/gpu.
enum class InjectLimits : std::uint8_t {
  Never,
  Always,
  /// Where a DeviceClass stands for nvidia.com/gpu (spec.extendedResourceName): a DRA driver serves limits
  /// then, and nothing but a limit gets its GPUs. With a device plugin a limit would have the kubelet pick
  /// others.
  Auto,
};

class Webhook {
 public:
  struct Config {
    InjectLimits inject_limits = InjectLimits::Never;
    /// nullopt: the certificate comes from files.
    std::optional<admission::Certificates::Config> certificates{};
    /// A claim came, changed or went (nullopt). On the machine's thread.
    std::function<void(const model::ObjectKey&, std::optional<std::int64_t>)> on_limit{};
    /// Limits are to be injected from now on, or not any more; before it is said they are not. The same.
    std::function<void(bool)> on_injecting{};
    /// What is to be shown from now on. The same.
    std::function<void(admission::PairPtr)> on_pair{};
  };
  /// `maker` must outlive it; it is not used without certificates.
  Webhook(Config config, admission::Maker& maker, Rng rng);

  [[nodiscard]] kapi::Effects start(Now now);
  [[nodiscard]] kapi::Effects handle(const kapi::MachineEvent& event, Now now);
  void stopTaking() {}
  [[nodiscard]] bool underWay() const { return false; }
  [[nodiscard]] const std::string& failure() const { return watches_.failure(); }
  /// Ready when reviews can be answered as they should be.
  [[nodiscard]] Readiness readiness() const;

 private:
  void take(const controller::Reflector::Output& output);
  void tellInjecting();
  void told();

  Config config_;
  controller::Owners owners_;  // alone in its process
  controller::Parts parts_{owners_};
  controller::Watches watches_;         // of claims and classes, or of nothing
  std::set<model::ObjectKey> serving_;  // classes that stand for nvidia.com/gpu
  bool injecting_ = false;              // as it was told
  std::optional<admission::Certificates> certificates_;
  admission::PairPtr told_;
};

}  // namespace gs::webhook
