// Enforcer: answers the container runtime of one node. It holds what the containers of the node have, and
// is told the newest record, CDI index and facts; the rest is plan() and audit(). One thread. Bounded:
// containers (Containers::kMost; where there is no room, one more with devices is refused), and what is kept
// of each (matters.h). Pure.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "enforce/audit.h"
#include "enforce/cdi/index.h"
#include "enforce/containers.h"
#include "enforce/matters.h"
#include "enforce/node_record.h"
#include "enforce/plan.h"

namespace gs::enforce {

using IndexPtr = std::shared_ptr<const cdi::Index>;

/// Since the start, for metrics.
struct Counts {
  std::uint64_t answered = 0;                      // createContainer
  std::array<std::uint64_t, kReasons> refused{};   // by Reason
  std::array<std::uint64_t, kRemarks> remarked{};  // by Remark; Adjusted and Moved among them
  std::array<std::uint64_t, kWrongs> wrong{};      // by Wrong: of each container each kind once
  friend bool operator==(const Counts&, const Counts&) = default;
};

class Enforcer {
 public:
  /// Until a record comes, nobody holds anything for sure: containers with GPUs are refused.
  explicit Enforcer(RuntimeFacts facts);

  void setFacts(RuntimeFacts facts);
  void setRecord(NodeRecordPtr record);  // never null
  void setIndex(IndexPtr index);         // never null

  /// All containers of the node, as a runtime says them when it is connected: what was known is forgotten.
  /// Those of unknown sandboxes are judged as ones of no pod.
  void synchronize(const std::vector<rpc::nri::PodSandbox>& pods,
                   const std::vector<rpc::nri::Container>& containers);
  /// A container that is being created. Asked twice of one id: the second answer counts.
  Planned createContainer(const rpc::nri::PodSandbox& pod, const rpc::nri::Container& container);
  /// Its answer depends on the CDI index, or may: its pod holds devices or says so, or it was given some. Of
  /// most containers of a node it does not.
  [[nodiscard]] bool needsIndex(const rpc::nri::PodSandbox& pod, const rpc::nri::Container& container) const;
  /// It stopped, was removed, or was not created after all. Any number of times.
  void removeContainer(const std::string& id);

  /// What is wrong now, by the newest record. To be asked after synchronize() and when the record changed.
  /// O(all containers).
  [[nodiscard]] std::vector<Mismatch> audit();

  [[nodiscard]] const Counts& counts() const { return counts_; }
  [[nodiscard]] const Containers& containers() const { return containers_; }
  /// A container that was there before us, or that we answered for.
  struct Known {
    rpc::nri::PodSandbox pod;            // with the annotations that are read
    rpc::nri::Container container;       // what matters of it
    bool was_answered = false;           // it has what containers() says
    std::vector<std::string> devices{};  // then: by DeviceTable::nameOf, since ids may move
  };
  /// By id; those of containers() are all among them.
  [[nodiscard]] const std::map<std::string, Known>& known() const { return known_; }

 private:
  /// False: there is no room, and it is not kept.
  bool keep(const std::string& id, Known known);
  bool keepAnswered(const rpc::nri::PodSandbox& pod, const rpc::nri::Container& container, const Plan& plan);
  void count(const Plan& plan);
  /// What containers have, by the names that devices have now.
  void lookAgain();
  [[nodiscard]] Seen seenOf(const std::string& id, const Known& known, const DeviceTable& table) const;

  RuntimeFacts facts_;
  NodeRecordPtr record_;
  IndexPtr index_;
  Containers containers_;
  std::map<std::string, Known> known_;        // by id
  std::map<std::string, std::uint8_t> said_;  // by id: which kinds of Wrong were counted, as bits
  Counts counts_;
};

}  // namespace gs::enforce
