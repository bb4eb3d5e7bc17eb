// Says what is odd about claims that were accepted all the same (sched/placement/claim_oddities.h): a
// Warning event on the claim, once while what makes it odd stays. By a deterministic name, so that the next
// leader, who looks at all claims again, makes no second one while the first is there.
//
// One user may have a hundred thousand odd claims, or change one for ever: all together are said at most ten
// times a second, namespaces take turns, and of a namespace the claims in the order in which they changed.
// What waits is a name. Pods of a claim are looked at when its count is not what it was, or when it went.
// A part of the scheduler's; one thread.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "sched/placement/claim_oddities.h"
#include "scheduler/core/context.h"

namespace gs::scheduler {

class ClaimWarnings : public controller::Part {
 public:
  static constexpr Duration kGap = std::chrono::milliseconds{100};  // for each that is said
  /// Claims and pods that are looked at in one event, and the pods of one more claim.
  static constexpr std::size_t kLooksPerTurn = 4'096;

  explicit ClaimWarnings(Context& context) : c_{context} { c_.parts.add(*this); }

  /// The claim changed, or came, or went; or one of its pods changed.
  void touched(const model::ObjectKey& claim);
  void pump();
  [[nodiscard]] std::optional<Mono> nextDue() const override;
  void reset() override;

 private:
  struct Known {
    model::Uid uid;
    std::int64_t count = 0;      // that its pods were compared with
    std::set<std::string> said;  // ClaimOddity::about, of its spec
  };
  [[nodiscard]] model::ObjectKey takeNext();
  /// How much was said.
  int look(const model::ObjectKey& key);
  int lookAtSpec(const model::GpuClaim& claim, Known& known);
  [[nodiscard]] sched::ClaimUsers usersOf(const model::ObjectKey& key, std::int64_t count);
  void say(const model::ObjectKey& key, const model::Uid& uid, model::Revision revision,
           const sched::ClaimOddity& oddity);

  Context& c_;
  std::unordered_map<model::ObjectKey, Known> known_;
  std::unordered_set<model::ObjectKey> waiting_;         // to be looked at
  std::map<std::string, std::deque<std::string>> turn_;  // the same by namespace, none empty
  std::string last_;                                     // the namespace that was looked at last
  Mono not_before_{};
  std::size_t looks_ = 0;
};

}  // namespace gs::scheduler
