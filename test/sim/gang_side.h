// Gangs of pods that ask for shares of GPUs, and their scheduler: as Volcano does, it places all members that
// wait in one session, or none. For each it looks at one node after the other and allocates the first that
// fits; when one finds none it takes back what the others were given, and tries again some seconds later;
// when all have a node it binds them. It gives up calls that are answered later, and sessions, and dies in
// the midst of one.
// gpu-manager may refuse a member: that none is taken before all are bound is not promised. It is made anew,
// as by a Job.
// A part of ShareSide, with a generator of its own.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "sandbox/world/world.h"
#include "test/sim/plan.h"
#include "test/sim/share_judge.h"

namespace gs::sim {

class GangSide {
 public:
  /// Asks about `nodes`, which others fill.
  GangSide(sandbox::World& world, ShareJudge& judge, const Plan& plan, const std::vector<std::string>& nodes);
  void carryOut(const Step& step);
  /// From now on it does what schedulers should.
  void calmDown();
  /// False: somebody else asked.
  bool answered(extender::RequestId request_id, const extender::Answer& answer);
  /// "" or which gang waits though there is room for it.
  [[nodiscard]] std::string starving() const;
  [[nodiscard]] bool isMember(const std::string& uid) const { return uids_.contains(uid); }
  [[nodiscard]] std::size_t bindings(bool as_told) const { return bindings_[as_told ? 1 : 0]; }
  /// Whole ones, of two members or more.
  [[nodiscard]] std::size_t gangsBound() const { return gangs_bound_; }

 private:
  struct Member {
    std::string pod, uid;
  };
  struct Given {
    Member member;
    std::string node;
    bool stands = false;  // it was told so, and nothing was asked before that may move it later
    std::string note{};   // what its annotations said then
  };
  struct Gang {
    std::string name;        // of its group
    bool busy = false;       // it has a turn to come, or a session
    std::uint64_t turn = 0;  // counts what it waits for: an answer or a moment; who comes later is not heard
    std::vector<Member> members{};
    std::vector<std::string> nodes{};  // that are left for the member whose turn it is, the next one last
    int in_vain = 0;                   // sessions, in a row
    std::vector<Given> given{};        // what was asked for, of each member that had its turn
  };
  struct Asked {
    int gang = 0;
    std::uint64_t turn = 0;
    extender::RequestId request_id = 0;
    extender::Verb verb{};
    Member member;
    std::string node{};  // Deallocate: none
    Mono at{};
  };

  void comes(int gang, int flavour, int members);
  void goes(const Step& step);
  void make(const std::string& name, const json::Value& pod);
  void makeAnew(int gang);
  void later(int gang, Duration by, void (GangSide::*what)(int));
  void session(int gang);
  void place(int gang);
  void tryNode(int gang);
  void giveUp(int gang);
  void ask(int gang, extender::Verb verb, const Member& member, const std::string& node);
  void unanswered(const Asked& asked);
  [[nodiscard]] bool stands(const Asked& asked) const;
  void bindAll(int gang);
  bool bind(const Given& given);
  [[nodiscard]] bool waits(const Member& member);
  [[nodiscard]] Duration upTo(std::uint64_t ms) {
    return Duration{std::chrono::milliseconds{1}} * static_cast<std::int64_t>(rng_.below(ms));
  }

  sandbox::World& world_;
  ShareJudge& judge_;
  const std::vector<std::string>& nodes_;
  Rng rng_;
  int extenders_;  // alone; 0: each scheduler has one beside it
  bool calm_ = false;
  std::map<int, Gang> gangs_;
  std::map<extender::RequestId, Asked> asked_;           // without an answer so far
  std::map<std::string, std::vector<Asked>> questions_;  // that may move a pod, by its uid
  extender::RequestId last_;
  std::uint64_t said_ = 0;                   // counts conditions, so that no two are equal
  std::map<std::string, json::Value> made_;  // by name
  std::set<std::string> uids_;               // of all members there ever were
  std::array<std::size_t, 2> bindings_{};    // late; as told
  std::size_t gangs_bound_ = 0;
};

}  // namespace gs::sim
