// The key that digests in annotations are marked with (digest_mark.h), as all replicas have it: field
// MUTATION_SIGNING_KEY of a Secret. It is made when it is not there, and whoever made it first has made it
// for all. Whatever text stands in the field is the key, as the ancestor takes it.
//
// Looked at every kLook: a key that somebody changed is taken, and one that was deleted is made anew. Until
// all replicas know it, a cache that one marks another may refuse. Caches that are there need no key again.
// Errors of the API are waited out with backoff, and said by trouble(). One thread; time is an argument.
#pragma once

#include <functional>
#include <string>

#include "admission/kinds.h"
#include "controller/keyed_calls.h"
#include "kapi/call.h"

namespace gs::gkm {

class SigningKey {
 public:
  static constexpr const char* kField = "MUTATION_SIGNING_KEY";
  static constexpr Duration kLook = std::chrono::seconds{30};
  static constexpr std::size_t kLeast = 16;  // bytes: a shorter one can be guessed

  struct Config {
    model::ObjectKey secret;
    std::string managed_by;             // label app.kubernetes.io/managed-by of one that is made
    std::function<std::string()> make;  // a new key, as text
    std::uint8_t owner = 0;
  };
  explicit SigningKey(Config config) : config_{std::move(config)}, calls_{config_.owner} {}

  [[nodiscard]] kapi::Effects start(Now now);
  /// The answer to a call of its own, or time.
  [[nodiscard]] kapi::Effects handle(const kapi::Outcome& outcome, Now now);
  [[nodiscard]] kapi::Effects tick(Now now);

  /// "" not known yet.
  [[nodiscard]] const std::string& key() const { return key_; }
  /// Why it is not known, or not looked at any more; "" nothing.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }

 private:
  enum class Doing : std::uint8_t { Read, Create };
  static constexpr int kOnly = 0;

  void send(Doing doing, kapi::Call call, kapi::Effects& out);
  void create(kapi::Effects& out);
  void take(const admission::Secret& secret, kapi::Effects& out);
  void failed(const kapi::Outcome& outcome, Now now, kapi::Effects& out);
  void say(std::string trouble, kapi::Effects& out);
  void wake(Now now, kapi::Effects& out);

  Config config_;
  controller::KeyedCalls<int, Doing> calls_;
  std::string key_;
  std::string trouble_;
  Mono next_look_{};
};

}  // namespace gs::gkm
