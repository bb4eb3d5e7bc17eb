// Informers: lists and watches all kinds of objects that the engine needs, and hands each change to it. It
// has one reflector (controller/reflector.h) for each kind, called a source. A pure machine; the scheduler
// and gpu-admission have one each.
//
// A component asks it two things: which kinds have caught up with a revision (takeCaughtUp()), and whether
// the API server's history went back (failure()), because etcd was restored from a backup, say. Then
// nothing that is known can be trusted. Lists and watches show that, and so do answers to the component's
// own calls: a list or an object in an answer must not be older than what was known of its kind when the
// call was sent. That is why the component reports its calls here (sent()), and lets their answers pass
// through handle(). Tokens: the owner's number is 1 + the source's place in the list, which is also the
// order of starts and of checks. One thread; the engine must outlive it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/readiness.h"
#include "controller/watches.h"
#include "engine/engine.h"
#include "engine/server_question.h"
#include "kapi/call.h"

namespace gs::engine {

class Informers {
 public:
  struct Source {
    kapi::Kind kind{};
    std::string ns{};  // "" all namespaces
    kapi::Selectors selectors{};
    bool optional = false;
  };
  /// The ConfigMap of quotas, which we may do without.
  static Source quotaSource(const model::QuotaConfig& config);

  /// Each of another kind.
  Informers(Engine& engine, const std::vector<Source>& sources, Rng& rng, controller::Owners owners = {},
            std::size_t listed_to_catch_up = controller::Reflector::kListedToCatchUp);

  /// To be called before start(): nothing is listed before the server said which Kubernetes it is (or would
  /// not). Else the engine takes it for the newest.
  void asksServer() { asks_server_ = true; }
  void start(Now now, kapi::Effects& out);
  /// False: it is no event of these reflectors.
  bool handle(const kapi::MachineEvent& event, Now now, kapi::Effects& out);
  void tick(Now now, kapi::Effects& out);
  /// These calls of the component leave now: their answers must be newer than what is known now.
  void sent(const kapi::Effects& effects);
  /// Somebody else saw that history went back, the election say.
  void historyWentBack(std::string_view of_what) { watches_.historyWentBack(of_what); }

  /// See Reflector. Kinds that are not watched have nothing to catch up with, and are not said to have.
  void expectCatchUp(const std::vector<kapi::Kind>& kinds, Now now, kapi::Effects& out);
  void catchUp(kapi::Kind kind, model::Revision revision, Now now, kapi::Effects& out);
  [[nodiscard]] std::vector<kapi::Kind> takeCaughtUp() { return std::exchange(caught_up_, {}); }

  /// Why nothing that is known can be trusted any more (restored from a backup, say): the process must start
  /// anew. "" else.
  [[nodiscard]] const std::string& failure() const { return watches_.failure(); }

  /// What DRA drivers publish is known: ResourceSlices are listed, and so are the rules about them, if there
  /// are any. (Who may not list slices cannot say that there are none.)
  [[nodiscard]] bool knowSlices() const;

  /// Each kind is listed, or is not served, or may not be read and need not be; "cache/pods" is one check.
  [[nodiscard]] Readiness readiness() const;

 private:
  void take(const controller::Reflector& reflector, const controller::Reflector::Output& output, Now now);
  void tellQuota(const controller::Reflector& reflector, const controller::Reflector::Output& output,
                 Now now);
  void forgetUnlisted(const controller::Reflector& reflector, model::Revision listed_at, Now now);
  void begin(Now now, kapi::Effects& out);
  [[nodiscard]] bool complete() const;
  void compare(const kapi::Outcome& outcome);

  Engine& engine_;
  controller::Parts parts_;
  controller::Watches watches_;
  ServerQuestion server_;
  bool asks_server_ = false;
  std::vector<std::pair<kapi::Kind, model::Revision>> to_catch_up_;  // that were wanted before the first list
  std::vector<kapi::Kind> caught_up_;
  std::unordered_map<kapi::Token, std::pair<kapi::Kind, model::Revision>> floors_;  // of calls under way
};

}  // namespace gs::engine
