// The extender's part of a simulated cluster: nodes of gpu-manager, replicas of the extender alone if the
// plan has some, and another scheduler that asks them and binds. It asks again, in parallel, gives up calls
// that are answered later, binds late, and elsewhere; in some plays as Volcano's allocateFunc and
// deallocateFunc do, and through the extender's own Binding. Gangs are a part of their own (gang_side.h).
// Owned by one play, with the World that must outlive it; what it draws at random shifts nothing of the rest.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "sandbox/node/gpu_manager.h"
#include "sandbox/world/world.h"
#include "test/sim/gang_side.h"
#include "test/sim/plan.h"
#include "test/sim/share_judge.h"

namespace gs::sim {

class ShareSide {
 public:
  ShareSide(sandbox::World& world, const Plan& plan);
  /// After the schedulers' replicas.
  void begin();
  void carryOut(const Step& step);
  const std::string& watch();
  /// Writes of some object or namespace fail, as Op::Stick says.
  void writesStick(const Step& step);
  /// Who waits though nothing is in the way while others' writes fail. `is_disturbed`: something else may be.
  void look(bool is_disturbed);
  [[nodiscard]] std::size_t bindings(bool as_told) const {
    return bindings_[as_told ? 1 : 0] + gangs_.bindings(as_told);
  }
  [[nodiscard]] std::size_t gangsBound() const { return gangs_.gangsBound(); }
  /// Members of gangs, by gpu-manager.
  [[nodiscard]] std::size_t refusedMembers() const;
  /// Its replica? Then what becomes of its calls is drawn from here.
  [[nodiscard]] static bool isExtender(sandbox::ReplicaId id) { return id >= kReplicas; }
  [[nodiscard]] Rng& rng() { return rng_; }
  /// From now on its scheduler does what schedulers should.
  void calmDown() {
    calm_ = true;
    gangs_.calmDown();
  }
  /// "" or what is not as it should be now that nothing happens any more.
  [[nodiscard]] std::string settled();
  /// A new leader would adopt what this one promised. (Else this one waits for the end of what was
  /// overtaken.)
  [[nodiscard]] bool arePromisesBelieved() const { return !judge_.isPromiseOvertaken(); }

  void answered(extender::RequestId request_id, const extender::Answer& answer);

 private:
  struct Asked {
    std::string pod, uid;
    std::vector<std::string> nodes{};
    Mono at{};
    extender::RequestId request_id = 0;
    Mono until{};  // answers that come later are not heard
    extender::Verb verb = extender::Verb::Filter;
    [[nodiscard]] bool mentions(const std::string& node) const {
      return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
    }
  };
  struct Told {
    std::string node, note;
    bool stands = true;  // nothing was asked since that may have moved it
  };
  struct Mine {
    std::string uid;
    bool dropped = false;           // its scheduler does not look at it any more
    std::optional<Mono> told_so{};  // when it wrote that the pod is not scheduled, on top of an answer
    std::uint64_t leads = 0;        // which leader it was then
    std::uint64_t turn = 0;         // counts when it is to be considered
    std::size_t next_node = 0;      // to ask about, where it is asked of one at a time
    Told told{};
    std::vector<Asked> questions{};
    json::Value seen{};  // as its scheduler, whose watch may be late, last saw it
  };

  /// Its scheduler does what schedulers should.
  [[nodiscard]] bool isHurried(const std::string& pod) const;
  void comes(int slot, const json::Value& object);
  void consider(const std::string& pod, const std::string& uid);
  void considerLater(const std::string& pod, const std::string& uid, Duration by);
  void ask(const std::string& pod, const std::string& uid, Duration patience);
  void send(Asked asked, extender::Request question);
  void takeBack(const std::string& pod, const std::string& uid);
  void bindLater(const std::string& pod, const std::string& uid, const Told& told);
  void bind(const std::string& pod, const std::string& uid, const std::string& node, bool as_told);
  void bindThrough(const std::string& pod, const std::string& uid, const std::string& node);
  void drop(int slot, bool tell);
  [[nodiscard]] std::string reservationsWrong(sandbox::ReplicaId leader) const;
  [[nodiscard]] std::string reportsWrong();
  [[nodiscard]] std::string ledgerWrong(sandbox::ReplicaId leader);
  [[nodiscard]] const extender::Extender& extender(sandbox::ReplicaId id) const;

  sandbox::World& world_;
  Rng rng_;
  int extenders_;  // alone; 0: each scheduler has one beside it
  bool of_two_namespaces_;
  bool allocates_;  // asks for one node at a time, and takes it back
  bool binds_through_;
  std::vector<std::string> nodes_;
  std::vector<std::unique_ptr<sandbox::GpuManager>> managers_;
  ShareJudge judge_;
  GangSide gangs_;
  std::map<extender::RequestId, Asked> asked_;
  extender::RequestId request_ids_ = 0;
  std::map<std::string, Mine> mine_;  // by name
  std::optional<sandbox::ReplicaId> leader_;
  std::uint64_t leads_ = 0;  // counts leaders
  std::uint64_t said_ = 0;   // counts conditions, so that no two are equal
  bool calm_ = false;
  Mono stuck_until_{};
  Mono looked_{};
  std::map<std::string, Mono> fits_since_;  // by uid
  std::string problem_;
  std::array<std::size_t, 2> bindings_{};  // late or elsewhere; as told
};

}  // namespace gs::sim
