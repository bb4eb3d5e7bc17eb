// LostNodes: takes away what nodes left behind that have left the cluster, so that their caches can go
// (docs/use/gkm-operator.md, "Nodes").
//
// A node object whose Node is not among those that the watch knows is suspect, no more: that the Node is gone
// is proven by a read of it just before, which says NotFound. Then the agent's finalizers are taken off the
// object and it is deleted, each only as it was seen: an agent that writes to it meanwhile keeps it. Before
// each of those writes older than kProof the proof is made again. What fails is tried again with backoff, by
// object; a Node that lives after all is asked for less and less often.
// One thread; time is an argument.
#pragma once

#include <map>
#include <set>
#include <string>

#include "controller/parts.h"
#include "kcache/kinds/kinds.h"
#include "model/object.h"
#include "operator/desk.h"

namespace gs::gkm {

class LostNodes final : public controller::Part {
 public:
  static constexpr Duration kProof = std::chrono::seconds{5};

  explicit LostNodes(controller::Parts& parts);

  void changed(const model::Ptr<kcache::CacheNode>& object);
  void gone(const model::ObjectKey& key);
  void nodeSeen(const std::string& node);
  void nodeLost(const std::string& node);

  void lead();
  void reset() override;

  void handle(const kapi::Outcome& outcome, Now now, kapi::Effects& out) override;
  void go(Now now, kapi::Effects& out);
  [[nodiscard]] std::optional<Mono> nextDue() const override;
  [[nodiscard]] bool underWay() const { return desk_.underWay() > 0; }
  /// Objects whose Node the watch does not know.
  [[nodiscard]] std::size_t suspects() const { return suspects_.size(); }

 private:
  enum class Doing : std::uint8_t { Prove, Release, Delete };
  struct Object {
    model::Ptr<kcache::CacheNode> value;
    std::optional<Mono> proven_at{};
    std::string trouble{};
  };

  void judge(const model::ObjectKey& key, const std::string& node);
  void look(const model::ObjectKey& key, Object& object, Now now, kapi::Effects& out);
  void send(const model::ObjectKey& key, Doing doing, kapi::Call call, kapi::Effects& out);
  void proven(Object& object, const model::ObjectKey& key, const kapi::Outcome& outcome, Now now);
  void written(Object& object, const model::ObjectKey& key, Doing doing, const kapi::Outcome& outcome,
               Now now, kapi::Effects& out);

  Desk<Doing> desk_;
  std::map<model::ObjectKey, Object> objects_;
  std::map<std::string, std::set<model::ObjectKey>> of_node_;
  std::set<std::string> there_;  // Nodes that the watch knows
  std::set<model::ObjectKey> suspects_;
  bool is_leading_ = false;
};

}  // namespace gs::gkm
