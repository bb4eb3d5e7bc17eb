// The webhook as a machine: its certificate (certificates.h), and, where limits are injected, the GpuClaims
// that there are. Reviews are answered beside it, by handler.h, on any thread.
//
// Every replica works; nobody leads. What it keeps of a claim is its count. One thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "admission/certificates.h"
#include "base/random.h"
#include "base/readiness.h"
#include "controller/watches.h"
#include "model/claim.h"

namespace gs::webhook {

/// How many nvidia.com/gpu a pod of the claim is limited to: of those that are Exclusive and valid.
[[nodiscard]] std::optional<std::int64_t> limitOf(const model::GpuClaim& claim);

class Webhook {
 public:
  struct Config {
    bool injects_limits = false;
    /// nullopt: the certificate comes from files.
    std::optional<admission::Certificates::Config> certificates{};
    /// A claim came, changed or went (nullopt). On the machine's thread.
    std::function<void(const model::ObjectKey&, std::optional<std::int64_t>)> on_limit{};
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
  void told();

  Config config_;
  controller::Owners owners_;  // alone in its process
  controller::Parts parts_{owners_};
  controller::Watches watches_;  // of claims, or of nothing
  std::optional<admission::Certificates> certificates_;
  admission::PairPtr told_;
};

}  // namespace gs::webhook
