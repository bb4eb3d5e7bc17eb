// The operator's webhook as a machine, beside what answers reviews (handler.h): its certificate
// (admission/certificates.h) and its signing key (signing_key.h).
//
// Every replica works, whoever leads. One thread; time is an argument.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "admission/certificates.h"
#include "base/readiness.h"
#include "operator/admission/signing_key.h"

namespace gs::gkm {

class Webhook {
 public:
  struct Config {
    /// nullopt: the certificate comes from files. Its owner is set here.
    std::optional<admission::Certificates::Config> certificates{};
    /// nullopt: the key comes from the environment. The same.
    std::optional<SigningKey::Config> key{};
    /// What is to be shown, and marked with, from now on. On the machine's thread.
    std::function<void(admission::PairPtr)> on_pair{};
    std::function<void(const std::string&)> on_key{};
  };
  /// `maker` must outlive it; it is not used without certificates.
  Webhook(Config config, admission::Maker& maker);

  [[nodiscard]] kapi::Effects start(Now now);
  /// What is not its own does nothing.
  [[nodiscard]] kapi::Effects handle(const kapi::MachineEvent& event, Now now);
  /// An answer to a call of its own.
  [[nodiscard]] static bool isForIt(const kapi::MachineEvent& event);
  /// Whether reviews can be answered.
  [[nodiscard]] Readiness readiness() const;

 private:
  void told();

  Config config_;
  std::optional<admission::Certificates> certificates_;
  std::optional<SigningKey> key_;
  admission::PairPtr told_pair_;
  std::string told_key_;
};

}  // namespace gs::gkm
