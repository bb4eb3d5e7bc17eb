// The judge of shares of GPUs on nodes of gpu-manager: what the API server's objects alone say about who has
// how much of which device. Nothing of the extender's code is asked.
//
// A Binding is fair when its scheduler was told that node, nothing was asked for the pod since that would
// move it, and the pod's annotations say still what they said then. All others are late or foreign: nobody
// can fence those (R55), so their pods are not counted here. Fair ones fit at any time:
//   - shares by the device that the annotations name;
//   - whole devices by number until gpu-manager says which it took: it takes any. A share that is on its way
//     to one that it took so will be refused by it, and may have been chosen before anybody knew.
// A pod that gpu-manager would refuse whatever the node, or not serve in full, is told so before a node is
// found for it.
// gpu-manager comes to the annotated device of each, but for members of a gang (R56), and where a late one is
// on the node, or somebody left it since the pod came, or shortly before.
// Reads the store's history from where it was; the caller watches before history is compacted. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "apiserver/handlers/api.h"
#include "json/value.h"

namespace gs::sim {

class ShareJudge {
 public:
  explicit ShareJudge(apiserver::Api& api) : api_{api} {}

  /// Reads what changed. "" or the first thing that must never be; the same from then on.
  const std::string& watch(Mono now);

  /// Where a pod is to run and on which devices, as its annotations say it: "m-0 0:1 1:0,2", "" nothing.
  [[nodiscard]] std::string noteOf(const std::string& uid) const;
  /// A replica answered about the pod; `is_taken`: its node, or any, will do.
  void answered(const std::string& uid, bool is_taken, const std::string& text);
  /// A replica answered that the pod gets this node; it knew how it was at some time since `since`.
  void chosen(const std::string& uid, const std::string& node, Mono since);
  /// A Binding is about to be carried out for this pod.
  void binding(const std::string& uid, bool fair);

  struct Container {
    int cores = 0;
    int memory = 0;
    std::vector<int> ids;
    [[nodiscard]] bool whole() const { return cores >= 100; }
    [[nodiscard]] bool wantsGpu() const { return whole() || (cores > 0 && memory > 0); }
  };
  struct Pod {
    std::string name, node, named, time, note, told;
    std::string gang;  // "": it is in none
    std::string odd;   // why gpu-manager would refuse it, or not count all of it; "": it would not
    std::vector<Container> containers;
    bool assigned = false, finished = false, fair = false;
    bool leaves = false;   // or has ended
    bool refused = false;  // by gpu-manager, which picked another device than the note's
    Mono came_at{};
    Mono noted_at{};    // when the note became what it is
    Mono written_at{};  // when its annotations were written last, to the same words or others
    Mono assigned_at{};
    [[nodiscard]] bool live() const { return !node.empty() && !finished; }
    [[nodiscard]] bool waits() const { return node.empty() && !finished; }
  };
  [[nodiscard]] const std::map<std::string, Pod>& pods() const { return pods_; }
  /// It was ever bound as its scheduler was not told, or no more.
  [[nodiscard]] bool boundLate(const std::string& uid) const { return late_.contains(uid); }
  /// Somebody who waits was promised what bound pods do not leave any more: one that was bound late took it,
  /// or gpu-manager gave the device away as a whole.
  [[nodiscard]] bool isPromiseOvertaken() const;
  /// Some node has room for it: by the bound pods and, once all is quiet, those that have a note.
  [[nodiscard]] bool hasRoom(const Pod& pod) const;
  /// Some members wait, and all of them have room at once beside the bound pods, where nobody else is on his
  /// way. What they were given of it so far is theirs.
  [[nodiscard]] bool hasRoomForGang(const std::string& gang) const;

 private:
  struct Node {
    int devices = 0;
    int memory_each = 0;
  };
  struct Noted {
    Mono since{};
    std::string note;
    std::string node;
  };
  /// What is used of one node.
  struct Use {
    std::map<int, std::pair<int, int>> shares;  // device -> cores, memory
    std::map<int, Mono> whole;                  // device -> since when it is known
    std::map<int, Mono> last_share;  // device -> when the last share was chosen that is on its way there
    std::set<int> settled;           // devices with a share that gpu-manager gave
    int unknown = 0;                 // whole devices of which it is not known which
  };
  static Pod podOf(const json::Value& object);
  static std::string oddityOf(const json::Value& spec);
  void podChanged(const apiserver::HistoryEntry& entry);
  void nodeChanged(const apiserver::HistoryEntry& entry);
  [[nodiscard]] bool isLeftFor(const Pod& pod, bool beside_late) const;
  [[nodiscard]] bool isUnclear(const std::string& node, const std::string& but_gang) const;
  [[nodiscard]] static int roomFor(const Container& wants, const Node& node, const Use& use);
  [[nodiscard]] Use useOf(const std::string& node, bool waiting_too) const;
  static void add(Use& use, const Pod& pod);
  void check(const std::string& node, const std::string& who);
  void checkRefusal(const Pod& pod);
  void wrong(std::string what);

  apiserver::Api& api_;
  std::uint64_t position_ = 0;
  std::string problem_;
  Mono now_{};
  std::map<std::string, Pod> pods_;                 // by uid; those that ask for shares
  std::map<std::string, std::deque<Noted>> notes_;  // by uid, the newest last
  std::map<std::string, bool> bindings_;            // uid -> the one that is being carried out is fair
  std::set<std::string> late_;                      // uids
  std::set<std::string> taken_back_{};              // promises that a late one had overtaken, by uid
  std::map<std::string, Node> nodes_;
  std::map<std::string, Mono> left_;  // node -> when somebody left it last
};

}  // namespace gs::sim
