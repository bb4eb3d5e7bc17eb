// PodCalls: the extender's calls to the API server about pods: which answer belongs to which of them.
//
// Its tokens are those of controller::KeyedCalls, by pod and purpose. The same may be asked again for a pod
// whose grant ended meanwhile; of two such answers the grant itself knows which one it waits for
// (NoteWrite::answered()), so both come back. The waits of KeyedCalls are not used: from when on the next
// call of a grant may leave depends on what became of the last one (NoteWrite). One thread.
#pragma once

#include <chrono>
#include <compare>
#include <optional>
#include <string>
#include <utility>

#include "controller/keyed_calls.h"
#include "controller/parts.h"
#include "kapi/call.h"
#include "model/ids.h"

namespace gs::extender {

class PodCalls {
 public:
  enum class Purpose : std::uint8_t { Write, Remove, Read, ReadForBind, Bind, Wake };

  explicit PodCalls(std::uint8_t owner) : owner_{owner} {}
  PodCalls(const PodCalls&) = delete;
  PodCalls& operator=(const PodCalls&) = delete;

  /// The number that its calls carry.
  [[nodiscard]] std::uint8_t owner() const { return owner_; }

  struct Answered {
    model::Uid uid;
    Purpose purpose{};
    std::string slot{};  // namespace whose slot it has, if any
  };

  /// Returns its token.
  kapi::Token send(kapi::Call call, Purpose purpose, const model::Uid& uid, kapi::Effects& out,
                   std::string slot = {}) {
    call.token = calls_.begin({uid, purpose}, std::move(slot));
    call.timeout = kTimeout;
    call.leader_only = call.verb != kapi::Verb::Get;
    // A wake keeps nobody waiting: of it and another write the version decides which takes effect.
    if (call.leader_only) { call.ordering_key = (purpose == Purpose::Wake ? "wake/" : "pod/") + uid.text; }
    const kapi::Token token = call.token;
    out.emplace_back(std::move(call));
    return token;
  }
  /// nullopt: it is of an earlier term.
  [[nodiscard]] std::optional<Answered> answered(kapi::Token token) {
    auto call = calls_.answered(token);
    if (!call) { return std::nullopt; }
    return Answered{std::move(call->key.uid), call->key.purpose, std::move(call->what)};
  }
  [[nodiscard]] bool underWay() const { return calls_.underWay() > 0; }
  void reset() { calls_.reset(); }

 private:
  static constexpr Duration kTimeout = std::chrono::seconds{3};  // a waiting scheduler gives up after 5
  struct Key {
    model::Uid uid;
    Purpose purpose{};
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  const std::uint8_t owner_;
  controller::KeyedCalls<Key, std::string> calls_{owner_};
};

}  // namespace gs::extender
