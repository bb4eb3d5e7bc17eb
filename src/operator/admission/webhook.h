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
#include "controller/parts.h"
#include "operator/admission/signing_key.h"

namespace gs::gkm {

class Webhook final : public controller::Part {
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
  Webhook(controller::Parts& parts, Config config, admission::Maker& maker);

  void start(Now now, kapi::Effects& out);
  void handle(const kapi::Outcome& outcome, Now now, kapi::Effects& out) override;
  void tick(Now now, kapi::Effects& out) override;
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
