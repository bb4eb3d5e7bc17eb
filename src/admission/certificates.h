// A webhook's certificate, made and renewed by itself: nobody has to run a script or install cert-manager.
//
// A CA that signs this one certificate, and the certificate, are made together, and the CA's key is thrown
// away: nothing that could sign for others is kept. They stand in a Secret, so that all replicas show the
// same; its ca.crt has the CA before it too, while that one lives. The CA is written into clientConfig of
// our webhook configurations, where the API server reads whom to trust. A pair is shown only when the
// configurations have trusted its CA for a while (kSpread), but for the first one and for one that takes the
// place of one that is over; what is shown stays trusted meanwhile, so a renewal refuses no request. It is
// renewed when two thirds of its life are over, or when its life has not begun by more than kClocks.
// Of the configurations only webhooks that ask our Service are written.
// Replicas agree by the Secret's resourceVersion: whoever writes first wins, the other one reads.
//
// A Secret that somebody else made (cert-manager, a script) is shown and never written; its ca.crt goes into
// the configurations. Without one, a caBundle that leads to the certificate is left as it is, an empty one
// becomes the certificate itself, and one that does not fit keeps us unready, for it is somebody's. All is
// read again twice a minute, so what an upgrade or a hand took away comes back. A configuration that is not
// there is nothing to write to.
//
// Errors of the API are waited out with backoff, and said by trouble(). Keys are made by the Maker, which the
// caller owns. One thread.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "admission/kinds.h"
#include "base/clock.h"
#include "base/result.h"
#include "controller/keyed_calls.h"
#include "kapi/call.h"

namespace gs::admission {

/// PEM text.
struct Pair {
  std::string ca;  // whom to trust: its own CA first; "" where it is not known
  std::string certificate;
  std::string key;
  friend bool operator==(const Pair&, const Pair&) = default;
};
using PairPtr = std::shared_ptr<const Pair>;

/// Makes keys and reads certificates, which a pure machine cannot.
class Maker {
 public:
  virtual ~Maker() = default;
  struct Life {
    Wall from{};
    Wall until{};
  };
  /// A new CA and a certificate of it for these names. Error Internal: the library's.
  [[nodiscard]] virtual Result<Pair> make(const std::vector<std::string>& names, Life life) = 0;
  /// How long its certificate is good. Error Invalid: it is none, the key is not its own, it does not name
  /// `name`, or (where it has a ca) that CA has not signed it.
  [[nodiscard]] virtual Result<Life> check(const Pair& pair, const std::string& name) = 0;
};

class Certificates {
 public:
  static constexpr Duration kLook = std::chrono::seconds{30};
  static constexpr Duration kSpread = std::chrono::seconds{10};
  static constexpr auto kClocks = std::chrono::hours{1};  // by which those of two nodes may differ
  static constexpr auto kLife = std::chrono::hours{24 * 365};

  struct Config {
    model::ObjectKey secret;
    std::string service;     // in the Secret's namespace
    std::string managed_by;  // label app.kubernetes.io/managed-by of a Secret that is ours
    std::string mutating{};  // the configurations' names; "": there is none
    std::string validating{};
    std::uint8_t owner = 0;
  };
  /// `maker` must outlive it.
  Certificates(Config config, Maker& maker);

  [[nodiscard]] kapi::Effects start(Now now);
  /// The answer to a call of its own, or time.
  [[nodiscard]] kapi::Effects handle(const kapi::Outcome& outcome, Now now);
  [[nodiscard]] kapi::Effects tick(Now now);

  /// What to show to who connects; nullptr: nothing yet.
  [[nodiscard]] const PairPtr& shown() const { return shown_; }
  /// What is shown is trusted, or was at some time since the start.
  [[nodiscard]] bool ready() const { return shown_ != nullptr && was_trusted_; }
  /// Why something is not as it should be; "" nothing.
  [[nodiscard]] std::string trouble() const;

 private:
  enum class What : std::uint8_t { Secret, Mutating, Validating };
  static constexpr std::array kAll{What::Secret, What::Mutating, What::Validating};
  enum class Doing : std::uint8_t { Read, Write };
  struct Configuration {
    std::string name;
    bool absent = false;
    bool trusts = false;  // what the Secret has
  };

  [[nodiscard]] const kapi::Kind& kindOf(What what) const;
  [[nodiscard]] model::ObjectKey keyOf(What what) const;
  [[nodiscard]] Configuration& configuration(What what) {
    return configurations_.at(what == What::Mutating ? 0 : 1);
  }
  [[nodiscard]] bool isUsed(What what) const;
  void read(What what, kapi::Effects& out);
  void failed(What what, const kapi::Outcome& outcome, Now now, kapi::Effects& out);
  void secretRead(const kapi::Outcome& outcome, Now now, kapi::Effects& out);
  void secretIs(const Secret& secret, Now now, kapi::Effects& out);
  void renew(const Secret* secret, Now now, kapi::Effects& out);
  void configurationRead(What what, const kapi::Outcome& outcome, Now now, kapi::Effects& out);
  void trust(What what, const WebhookConfiguration& seen, Now now, kapi::Effects& out);
  void written(What what, const kapi::Outcome& outcome, Now now, kapi::Effects& out);
  void show(Now now, kapi::Effects& out);
  [[nodiscard]] bool isTrusted() const;
  [[nodiscard]] std::string wanted() const;
  [[nodiscard]] bool isTrustedBy(const WebhookConfiguration::Webhook& webhook) const;
  [[nodiscard]] bool isOursToWrite(const WebhookConfiguration::Webhook& webhook) const;
  [[nodiscard]] bool asksUs(const WebhookConfiguration::Webhook& webhook) const {
    return webhook.service == model::ObjectKey{config_.secret.ns, config_.service};
  }
  void say(What what, std::string trouble, kapi::Effects& out);
  void wake(Now now, kapi::Effects& out);
  [[nodiscard]] std::vector<std::string> names() const;

  Config config_;
  Maker& maker_;
  controller::KeyedCalls<What, Doing> calls_;
  std::array<Configuration, 2> configurations_;
  std::array<std::string, 3> trouble_{};  // by What
  PairPtr stored_;                        // as the Secret last had it
  PairPtr shown_;
  Wall shown_until_{};
  Wall stored_until_{};
  bool was_trusted_ = false;
  std::optional<Mono> trusted_since_{};
  Mono next_look_{};
};

}  // namespace gs::admission
