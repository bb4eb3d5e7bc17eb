// The judge: what the API server's objects alone say about who has which GPU, and what kubelets run whether
// or not anybody says so. Nothing of the scheduler's code is asked.
//
// watch() is called after every change and reads the store's history from where it was. What must hold at any
// time is checked at the moment of each Binding (judge_grant.cc) and of each lease that goes; what must hold
// once everything is quiet by settled() (judge_settled.cc). A Binding is judged by what was to be known when
// it was decided: what held at some time within the last kKnown before that.
// One thread; Api and Kubelet must outlive it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/handlers/api.h"
#include "json/value.h"
#include "kapi/call.h"
#include "sandbox/world/world.h"
#include "test/sim/kube_side.h"
#include "test/sim/past.h"
#include "test/sim/plan.h"

namespace gs::sim {

/// One life of a replica.
struct Process {
  int number = 0;
  Mono began{};
};

class Judge {
 public:
  /// plan.agents: inUseBy is to be trusted, and what ended drains.
  Judge(sandbox::World& world, const Plan& plan)
      : api_{world.api()},
        kubelet_{world.kubelet()},
        machines_{world.machines()},
        agents_{plan.agents},
        plan_{plan} {}

  /// Reads what changed. "" or the first thing that must never be; the same from then on.
  const std::string& watch(Mono now);
  /// When something last changed that a scheduler would look at.
  [[nodiscard]] Mono lastChange() const { return last_change_; }
  /// Somebody's leases stand under names of GPU leases, or did a moment ago. A replica hears of them when it
  /// wants to write one, and looks every 30 s whether they are gone;
  /// a look that gets no answer takes 10 s more.
  [[nodiscard]] bool hasOthersLeases() const {
    const auto lately = [&](const auto& freed) { return freed.second + std::chrono::seconds{75} > now_; };
    return !others_.empty() || std::any_of(name_free_.begin(), name_free_.end(), lately);
  }
  /// A Binding left a replica: when, and the fence of the pod version that it was decided on, are remembered.
  void bindingSent(const kapi::Call& call, Mono now, Process by);
  /// A write of a lease left a replica: where a pod is tried is remembered.
  void leaseSent(const kapi::Call& call, Mono now);
  /// From now on leases that go were deleted by hand, and Bindings that name no devices are another
  /// scheduler's.
  void handAtWork(bool yes) { hand_ = yes; }
  /// Uids of pods of which a leader that saw their leases before somebody deleted or edited them knows more
  /// than the API says.
  [[nodiscard]] std::set<std::string> knownToSome() const;
  /// Each of its holders is bound, and has that device.
  [[nodiscard]] bool isOfRunningPod(const json::Value& lease) const;
  /// The API server has an older state: what is there now is the truth.
  void wentBack();
  /// Until then such writes fail all the time (Op::Stick); others are not to wait for them.
  void writesStick(int what, Mono until);
  void nothingSticks();
  /// Until then kube-scheduler binds no pod of namespace b; others are not to wait for those.
  void kubeHangs(Mono until) { hangs_until_ = until; }
  /// A fault: for so long nobody is expected to be placed.
  void disturbed(Duration how_long);
  [[nodiscard]] bool isDisturbed() const { return now_ < disturbed_until_; }
  /// As disturbed(): nobody leads, or another one. What had ended before that one knows by its leases at
  /// most.
  void ledAnew(Duration how_long);
  /// By who led before.
  void isLed() { is_led_ = true; }
  /// Another one leads from now on.
  void newLeader() { led_since_ = now_; }
  /// Something keeps, or kept, agents from seeing and saying what is so.
  void agentsHindered() { agents_calm_ = false; }
  /// Pods whose Binding is always refused are not expected to be placed.
  void neverPlaced(const std::string& name) { never_placed_.insert(name); }

  /// "" or what is not as it should be now that nothing happens any more.
  [[nodiscard]] std::string settled() const;

 private:
  /// What was so long before a Binding was decided was known to whom decided it,
  /// however late its watches are.
  static constexpr Duration kKnown = std::chrono::seconds{20};
  /// The same of one kind whose watch the API server could not open twice in a row:
  /// it is tried again 30 s later.
  static constexpr Duration kReopened = std::chrono::seconds{45};
  /// So long a node is left out for a pod that was tried there in vain: its leases were waited for, and then
  /// others come first.
  static constexpr Duration kInVain = std::chrono::seconds{40};
  static constexpr std::int64_t kCpus = 64;     // of each node (simNode())
  static constexpr std::int64_t kMemory = 512;  // GiB
  static constexpr const char* kOurs = "gpu-scheduler";
  static constexpr const char* kClaimsId = "gpu.scheduling/gpuclaims";

  struct Device {
    std::string node;
    int id = 0;
    friend auto operator<=>(const Device&, const Device&) = default;
    [[nodiscard]] std::string text() const { return node + ":" + std::to_string(id); }
  };
  struct Pod {
    std::string ns, name, scheduler, node, claim, fence, allocated, reservation, visible;
    std::vector<std::string> told_uuids{};  // which `visible` says
    std::vector<int> ids{};
    std::vector<int> named{};              // what somebody wrote there instead: held too
    std::set<std::string> uuids{};         // of those when it was decided, as its leases say
    std::string map;                       // gpu-scheduling-map
    std::optional<std::string> literal{};  // what its container's CUDA_VISIBLE_DEVICES says itself
    std::optional<std::pair<std::string, std::vector<int>>>
        mapped{};    // node and ids of its line; it is right
    int gpus = 0;    // limits nvidia.com/gpu
    int cpu = 0;     // requests, in whole ones
    int memory = 0;  // the same, GiB
    bool finished = false, deleting = false, tolerates = false;
    bool forgotten =
        false;  // a lease of it, which alone said the UUID of its GPU, was deleted or edited by hand
    bool by_hand = false;        // what it is told of itself was written by somebody else
    bool comes_by_hand = false;  // it came bound, with annotations of its own
    bool foreign = false;        // another scheduler bound it, though it is ours
    bool renamed = false;        // somebody edited `allocated`
    bool retold = false;         // somebody edited `visible`
    bool misled = false;         // what its containers were started with somebody else wrote
    std::string told;            // why it waits
    Mono bound_at{};
    [[nodiscard]] bool has(const Device& d) const;
    /// Nothing that is written speaks of its GPUs any more: what an agent sees alone does.
    [[nodiscard]] bool isUnspoken() const { return renamed && forgotten; }
    /// For each of its ids, when it was told UUIDs; else none.
    [[nodiscard]] const std::vector<std::string>& toldUuids() const;
    [[nodiscard]] bool live() const { return !node.empty() && !finished; }
    [[nodiscard]] bool asksResources() const { return cpu > 0 || memory > 0; }
    /// A kube-scheduler finds its node, and asks us about GPUs.
    [[nodiscard]] bool isKubes() const { return scheduler == kKubeName; }
    /// Whoever placed it, we gave it its GPUs, or were to.
    [[nodiscard]] bool isGivenByUs() const {
      return scheduler == kOurs || (isKubes() && (gpus > 0 || !claim.empty() || !map.empty()));
    }
    [[nodiscard]] std::string text() const { return "pod " + ns + "/" + name; }
  };
  struct Part {
    std::string devices;  // of its whole reservation
    std::string reservation;
  };
  struct Lease {
    bool shared = false;
    std::string uuid{};                                    // of the GPU that it was written for
    std::map<std::string, Part> holders;                   // by uid
    std::map<std::string, Mono> since;                     // uid -> when it became one
    std::set<std::string> joined;                          // those that came when others were there
    std::map<std::string, std::set<std::string>> company;  // uid -> who shared it with it, or until it came
    [[nodiscard]] bool isSharedBy(const std::string& uid) const { return shared && holders.contains(uid); }
    /// It was one of those.
    [[nodiscard]] bool hasShared(const std::string& other, const std::string& uid) const {
      const auto with = company.find(uid);
      return shared && with != company.end() && with->second.contains(other);
    }
  };
  struct Gpu {
    std::string health;
    std::string uuid;
    std::map<std::string, Mono> in_use;  // uid -> since when
    bool moved = false;                  // who is told its id may get another one
  };
  struct Link {
    std::string island;
    std::int64_t gbps = 0;
    friend bool operator==(const Link&, const Link&) = default;
  };
  struct Node {
    bool there = false;
    bool ready = false;
    std::int64_t allocatable = 0;
    bool tainted = false;
    bool other_enforcer = false;  // of which our doors know nothing
    std::string label{};          // gpu-node-name
    friend bool operator==(const Node&, const Node&) = default;
  };
  /// A claim, as far as it says what its pods get.
  struct Ask {
    bool there = false;
    std::int64_t count = 0;
    bool shared = false;
    bool near = false;
    std::int64_t gbps = 0;
    friend bool operator==(const Ask&, const Ask&) = default;
  };
  /// How many GPUs of each model a namespace may have.
  struct Quota {
    bool there = false;
    std::map<std::string, std::int64_t> limits{};
    [[nodiscard]] bool allows(const std::string& model, std::int64_t gpus) const;
    friend bool operator==(const Quota&, const Quota&) = default;
  };
  struct Sent {
    std::string allocated;
    Mono at{};
    Process by;
  };
  /// A pod that went while it was bound.
  struct Gone {
    Mono bound_at{};
    Mono went_at{};
    std::set<int> unleased;  // its devices whose leases did not name it then
    std::string node{};
    int counted = 0;  // GPUs that nobody named
    bool misled = false;
    bool unspoken = false;
    bool renamed = false;
  };

  static Pod podOf(const json::Value& object);
  static void readMap(Pod& pod);
  static std::pair<Device, Lease> leaseOf(const json::Value& object);
  void read(const apiserver::HistoryEntry& entry);
  void podChanged(const apiserver::HistoryEntry& entry);
  void editedByHand(const std::string& uid, Pod& pod, const Pod& known) const;
  void podWent(const std::string& uid);
  void leaseChanged(const apiserver::HistoryEntry& entry);
  [[nodiscard]] Mono leftAt(const std::string& lease) const;
  void noteOthers(const std::string& name, bool is);
  [[nodiscard]] bool isSharedUnderAnother(const Device& device, const std::string& uuid) const;
  void holdersChanged(const Device& device, Lease now);
  void mustBeReadable(const apiserver::HistoryEntry& entry);  // judge_leases.cc
  void statusChanged(const apiserver::HistoryEntry& entry);
  [[nodiscard]] bool lostBySwap(const std::string& uid, const std::string& gpu) const;
  void noteTakenOut(const std::map<Device, Gpu>& before);
  void nodeChanged(const apiserver::HistoryEntry& entry);
  void claimChanged(const apiserver::HistoryEntry& entry);
  void nameNodes();
  [[nodiscard]] std::string nodeNamed(const std::string& name) const;
  void wrong(std::string what);

  /// What tells Bindings without devices apart.
  static std::string toNode(const std::string& node) { return "to " + node; }

  /// GPUs may get other numbers in this play.
  [[nodiscard]] bool renumbers() const { return plan_.has(Feature::Renumber) || plan_.has(Feature::Lost); }

  // judge_grant.cc
  void bound(const std::string& uid, const Pod& pod, const std::string& fence);
  [[nodiscard]] Mono decidedAt(const Pod& pod, const Sent& sent) const;
  void namesNone(const Pod& pod, const std::string& node, Mono sent);
  void asAsked(const std::string& uid, const Pod& pod, Mono decided);
  void asClaimed(const std::string& uid, const Pod& pod, Mono decided);
  void asMapped(const std::string& uid, const Pod& pod, Mono decided);
  [[nodiscard]] bool isLinked(const Pod& pod, std::int64_t gbps, Mono decided) const;
  [[nodiscard]] bool isListed(const std::string& node, Mono decided) const;
  [[nodiscard]] bool isBare(const std::string& node, Mono decided) const;
  [[nodiscard]] std::int64_t mostAllocatable(const std::string& node, Mono decided) const;
  void countOn(const std::string& uid, const Pod& pod, const Sent& sent, Mono decided);
  [[nodiscard]] bool areGivenByTheNextLeader(const Pod& named, const Pod& counted, const Sent& sent) const;
  [[nodiscard]] std::map<std::string, std::int64_t> goneCounted(const std::string& node, const Sent& sent,
                                                                Mono decided) const;
  void resourcesOn(const std::string& uid, const Pod& pod, Mono decided);
  void seesWhatItHas(const Pod& pod, Mono decided);
  void healthyFirst(const std::string& uid, const Pod& pod, Mono decided);
  /// It asks for GPUs by limits, and so many are asked for there that its kubelet offers no more.
  [[nodiscard]] bool isFullFor(const Pod& pod, const std::string& node, Mono from) const;
  /// A pod there has a GPU by its number that its node lists no more while the others were renumbered:
  /// another one counts as its (R13).
  [[nodiscard]] bool hasLostOne(const std::string& node) const;
  /// Its GPUs are numbered otherwise than its status says: its agent is down.
  [[nodiscard]] bool isUntold(const std::string& node) const;
  /// Its status says other GPUs for its ids than at some time since then.
  [[nodiscard]] bool wereRenumberedSince(const std::string& node, Mono since) const;
  /// Which GPU has that id is not known to everybody yet.
  [[nodiscard]] bool changedLately(const Device& device, Mono decided) const;
  void limitsOn(const std::string& uid, const Pod& pod, Mono decided);
  void mayBeGiven(const Pod& pod, const Device& device, Mono decided);
  void give(const std::string& uid, const Pod& pod, const Device& device, Process by, Mono decided);
  void besideUnnamed(const Pod& pod, const Device& device, Mono decided);
  /// It has GPUs by their number, and nobody says which.
  [[nodiscard]] static bool isUnnamed(const Pod& pod) {
    return pod.live() && pod.ids.empty() && pod.named.empty() && pod.gpus > 0;
  }
  /// Nobody here decided that it is bound, and who decides may not have seen it yet.
  [[nodiscard]] bool isUnheardOf(const std::string& uid, const Pod& pod, Mono decided) const;
  /// Its containers have it, though by another number than they were told, and its agent has not said so, or
  /// not for long: it is down, or they came a moment ago.
  [[nodiscard]] bool isUnseen(const std::string& uid, const Pod& pod, const Device& device,
                              Mono decided) const;
  /// A lease of this GPU stands under the number that it had.
  [[nodiscard]] bool isLeasedByOldNumber(const std::string& node, const Gpu& gpu) const;
  /// Its lease of this GPU stands under another number, and is shared.
  [[nodiscard]] bool sharesByAnotherName(const std::string& uid, const Device& device) const;
  /// Its containers got another GPU than it was leased: its node had numbered them anew, and its agent was
  /// down.
  [[nodiscard]] bool gotAnother(const std::string& uid, const Device& device) const;
  void agentSawItFree(const std::string& uid, const Pod& pod, const Device& device, const Lease& lease,
                      Process by);
  void nothingRunsOn(const std::string& uid, const Pod& pod, const Device& device, const Lease& lease,
                     Process by, Mono decided);
  /// What its containers were started with somebody else wrote.
  [[nodiscard]] bool wasToldByOthers(const std::string& uid) const;
  [[nodiscard]] bool isUnspoken(const std::string& uid) const;
  /// By that lease, or it runs and the last one that named it was a shared one, too:
  /// that is missing by somebody's hand.
  [[nodiscard]] bool isShared(const Device& device, const Lease& lease, const std::string& uid) const;
  [[nodiscard]] bool couldNotKnow(const std::string& uid, const Device& device, Process who) const;
  [[nodiscard]] bool couldNoAgentTell(const std::string& uid, const std::string& node) const;

  // judge_quota.cc
  void quotasChanged(const apiserver::HistoryEntry& entry);
  void noQuotas();
  [[nodiscard]] std::int64_t usedOfModel(const std::string& ns, const std::string& model, Mono known,
                                         const std::string& but) const;
  void quotaOn(const std::string& uid, const Pod& pod, Mono decided);
  [[nodiscard]] bool isWithinQuota(const Pod& pod, const std::string& node, std::int64_t asked) const;

  // judge_waiting.cc
  void lookAtWaiting();
  [[nodiscard]] bool isHealthy(const Pod& pod) const;
  [[nodiscard]] bool wasCountedOn(const std::string& uid, const std::string& node) const;
  [[nodiscard]] std::set<std::string> notUsable() const;
  [[nodiscard]] bool waitsForBackoff(const std::string& uid) const;
  [[nodiscard]] Duration fairWait(const Pod& pod) const;
  [[nodiscard]] bool anyWentLately(const std::string& node) const;
  [[nodiscard]] std::set<std::string> withSpoilt(const std::string& uid, std::set<std::string> nodes) const;
  [[nodiscard]] static std::set<std::string> nodesIn(const apiserver::HistoryEntry& entry);
  void noteOpen(const std::set<std::string>& nodes);
  /// Live ones that are bound to it.
  using PodsOfNode = std::map<std::string_view, std::vector<const std::pair<const std::string, Pod>*>>;
  [[nodiscard]] bool isOpen(const Device& device, const Gpu& gpu, const PodsOfNode& pods) const;

  // judge_settled.cc
  [[nodiscard]] std::string claimsWrong() const;
  [[nodiscard]] std::string allocationsOf(const apiserver::StoreKey& claim) const;
  [[nodiscard]] std::string leasesWrong() const;
  /// Its lease of that device was sent long before it was bound.
  [[nodiscard]] bool isLate(const std::string& uid, const Pod& pod, const Device& device) const;
  [[nodiscard]] static bool landedUnknown(const Pod& pod, Mono landed);
  /// By name, or its containers have that GPU. Who was given none by name is only counted.
  [[nodiscard]] bool holds(const std::string& uid, const Pod& pod, const Device& device) const;
  /// It was told that id, or has the GPU that is called so now. Who was told UUIDs has those alone.
  [[nodiscard]] bool holdsByName(const Pod& pod, const Device& device) const;
  /// As holds(), or its annotation says so since somebody edited it,
  /// or its lease did until somebody deleted that.
  [[nodiscard]] bool mayHold(const std::string& uid, const Pod& pod, const Device& device) const;
  [[nodiscard]] std::string whatItHas(const std::string& uid, const Pod& pod) const;
  /// One of its ids meant this GPU when it was decided or soon after, or its containers have it.
  [[nodiscard]] bool mayHaveGot(const std::string& uid, const Pod& pod, const std::string& uuid) const;
  /// The lease of a GPU of its is another pod's, which has not moved to the number of its own GPU yet: so it
  /// has not either.
  [[nodiscard]] bool awaitsName(const std::string& uid, const Pod& pod) const;
  /// Those of its node that it holds.
  [[nodiscard]] std::vector<Device> heldByName(const Pod& pod) const;
  [[nodiscard]] bool isOfForged(const Lease& lease) const;
  [[nodiscard]] bool isMisread(const std::string& uid, const Pod& pod) const;
  [[nodiscard]] bool isToldOther(const std::string& uid, const Pod& pod) const;
  [[nodiscard]] std::string unsaid() const;
  [[nodiscard]] std::string podWrong(const std::string& uid, const Pod& pod) const;
  /// Anywhere, but for those nodes.
  [[nodiscard]] bool shouldFit(const Pod& pod, const std::set<std::string>& without = {}) const;
  [[nodiscard]] bool shouldFitAsMapped(const Pod& pod, const std::set<std::string>& without) const;
  [[nodiscard]] bool isNumberOfUnknown(const Device& device) const;
  [[nodiscard]] bool isFree(const Device& device, const Gpu& gpu) const;
  [[nodiscard]] bool isJoinable(const Device& device, const Lease& lease) const;
  /// What all pods that are bound there, but for this one, and this one ask for is there.
  [[nodiscard]] bool hasResourcesFor(const Pod& pod, const std::string& uid, const std::string& node,
                                     Mono bound_before) const;
  [[nodiscard]] std::int64_t podsOn(const std::string& node) const;
  [[nodiscard]] bool hasClaim(const Pod& pod) const;
  [[nodiscard]] std::int64_t freeOn(const std::string& node) const;
  [[nodiscard]] std::int64_t joinableOn(const std::string& node) const;

  apiserver::Api& api_;
  const sandbox::Kubelet& kubelet_;
  const sandbox::Machines& machines_;
  bool agents_;
  bool agents_calm_ = true;  // nothing has hindered any of them yet
  const Plan& plan_;
  bool hand_ = false;
  std::uint64_t position_ = 0;
  std::string problem_;
  std::map<std::string, Pod> pods_;                            // by uid
  std::map<std::string, std::set<std::string>> leased_uuids_;  // by uid: of its GPUs when it was bound
  std::map<std::string, Gone> gone_;                           // by uid
  std::map<std::string, Pod> deleted_;             // by uid, of plays that go back: as they were last
  std::map<std::string, std::vector<Mono>> went_;  // node -> when pods of it were deleted
  std::map<std::string, Mono> taken_out_;   // UUIDs of GPUs that another one took the place of, when last
  std::set<std::string> seen_using_;        // uids that an agent named
  std::map<std::string, Mono> agent_down_;  // node -> when its agent was down last
  std::set<std::string> lost_;              // pods that were bound in a history that is lost, and run on
  std::set<std::string> overtaken_;         // pods that a Binding of a history that is lost bound in this one
  std::set<std::string> clean_;    // pods that ended with all their containers: an agent may not know it yet
  std::set<std::string> unnamed_;  // pods that ran without an allocation
  std::map<std::string, Mono> unnamed_since_;  // by node, when the first with GPUs by their number came
  std::map<Device, Lease> leases_;
  std::set<std::string> invented_;                   // UUIDs that somebody wrote into leases; no GPU has them
  std::set<std::string> misnamed_;                   // uids of pods whose leases those were
  std::map<Device, std::set<std::string>> sharers_;  // uids, as the last lease that named them said
  std::map<std::string, Mono> reserved_;             // reservation -> when a lease first said it
  std::map<Device, Gpu> gpus_;
  std::map<Device, Past<bool>> givable_;  // listed, and not Unhealthy
  std::map<Device, Past<std::string>> uuids_;
  std::map<Device, Past<std::string>> healths_;
  std::map<Device, Past<bool>> open_;  // Healthy, and nobody's: since one was Unknown
  bool unknown_seen_ = false;
  bool notes_open_ = false;                                 // of all GPUs it was noted
  std::set<Device> others_;                                 // leases of that name that are not managed
  std::map<std::string, Mono> name_free_;                   // node -> when one of those went last
  std::map<std::string, Past<std::map<int, Link>>> links_;  // of a node's GPUs, as its status said
  std::map<std::string, Past<bool>> has_status_;            // by node
  std::set<std::string> enforced_;  // nodes whose agents give containers what was chosen
  std::map<std::string, Node> nodes_;
  std::map<std::string, Past<Node>> past_nodes_;
  std::map<std::string, Past<std::string>> named_;  // by the name that maps have: the node, "" none
  std::map<std::pair<std::string, std::string>, Past<Ask>> claims_;    // by namespace and name
  std::map<std::string, Past<Quota>> quotas_;                          // by namespace
  std::map<std::pair<std::string, std::string>, std::string> fences_;  // (uid, resourceVersion) -> fence
  /// uid -> fences that Bindings were decided on -> reservations, or toNode() of those without devices, as
  /// they first left
  std::map<std::string, std::map<std::string, std::map<std::string, Sent>>> decided_;
  std::map<std::string, std::map<std::string, Mono>> tried_;  // uid -> nodes -> when last
  std::map<std::string, std::map<Device, Mono>> wished_;      // uid -> when a lease for it first left
  std::map<std::string, Mono> lease_writes_;  // lease -> when the last Update or Delete of it left
  Mono now_{};
  Mono last_change_{};
  std::set<std::string> never_placed_;
  Mono went_back_{};
  std::set<std::string> lost_pods_on_;  // nodes with pods that a restored API server does not know
  int stuck_ = 0;
  Mono stuck_until_{};
  Mono hangs_until_{};
  Mono disturbed_until_{};
  Mono led_anew_{};
  Mono lost_at_{};                     // when whoever led before that one was lost
  std::set<std::string> left_leased_;  // nodes with leases of pods that had gone by then
  bool is_led_ = false;
  Mono led_since_{};  // by who leads now
  Mono looked_{};
  std::map<std::string, Mono> fits_since_;  // by uid
};

}  // namespace gs::sim
