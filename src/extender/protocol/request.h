// What schedulers ask the extender's machine and what it answers, as values: without JSON and without the
// words of a dialect (answers.h has those).
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/preemption.h"
#include "extender/protocol/node_table.h"
#include "model/node.h"
#include "model/object.h"
#include "model/pod.h"
#include "sched/ledger/share_board.h"
#include "sched/placement/offers.h"

namespace gs::extender {

/// Which nodes a caller asks about, in its order; names are numbers of `table`.
struct Candidates {
  NodeTablePtr table;
  std::vector<NodeTable::Index> nodes;  // NodeTable::kUnknown: it has no such name
  static constexpr model::Revision kNoObject = std::numeric_limits<model::Revision>::max();
  std::vector<model::Revision> revisions;  // of the objects in the body, 0: it says none; empty: names only
  /// The objects of those, by position, that the machine said are newer than what it knows
  /// (Answer::Kind::SendObjects).
  std::map<std::size_t, model::Ptr<model::Node>> objects;
};

enum class Verb : std::uint8_t {
  Filter,      // give it one of the candidates
  Predicate,   // Volcano before 1.13: the same of one node; others are refused for a while
  Look,        // Volcano 1.13: would it fit? Nothing is given
  Rank,        // how full are the nodes? Of a pod only where it is one of RequestHandler::Config::offered
  Allocate,    // Volcano 1.13: give it this node
  Deallocate,  // Volcano 1.13: it does not get it after all
  Bind,
  Preempt,  // which nodes would have room without the victims, or without whom else?
};

/// Pods that would have to leave the candidate at the same position. There may be very many: they are shared,
/// so that the machine's thread neither copies nor frees them.
using Victims = std::vector<model::Uid>;
using AllVictims = std::shared_ptr<const std::vector<Victims>>;

struct Request {
  Verb verb{};
  /// As the caller has it. Bind: key and uid only.
  model::PodPtr pod;
  /// Filter, Preempt: any number. Others, but Deallocate: one.
  Candidates candidates;
  model::NodeName node{};  // Bind: the candidate's name; it may be none that is known
  AllVictims victims;      // Preempt; null: nobody anywhere
  /// When its caller began to wait; the epoch: now. Nobody waits any more after Config::answer_within.
  Mono asked{};
};

/// Why the quota of the pod's namespace forbids it some candidates' nodes: few texts,
/// perhaps thousands of nodes.
struct QuotaRefusals {
  std::vector<std::string> texts;
  std::vector<std::uint32_t> of;  // by position, of `texts`; empty: it forbids none
  [[nodiscard]] const std::string* at(std::size_t i) const {
    return i < of.size() && of[i] < texts.size() ? &texts[of[i]] : nullptr;
  }
};

struct Answer {
  enum class Kind : std::uint8_t {
    Untouched,    // it asks for no GPU: all candidates are as good as before
    Chosen,       // candidate `chosen`
    Nowhere,      // no candidate; `text`, if any, is why, of the pod itself
    Ranked,       // Rank
    Done,         // Deallocate, Bind
    Kept,         // Preempt: `kept`, `victims`
    Offered,      // Filter: `offers`; Rank: `scores`. Of pods that the scheduler beside answers for
    Failed,       // `text`; ask again
    Unavailable,  // we do not decide now; `text`
    NewTable,     // `table` is another one: look the names up again
    SendObjects,  // `kept`: positions of nodes that the machine knows older, or not at all
  };
  Kind kind{};
  std::string text;
  bool never = false;  // Nowhere: the pod itself is wrong, no node will ever do
  std::size_t chosen = 0;
  sched::NodeStanding chosen_standing;
  /// How the nodes stood when that was decided; null when it was decided earlier.
  std::shared_ptr<const sched::Standings> standings;
  std::map<std::size_t, sched::NodeStanding> of_objects;  // by position, instead of those
  std::vector<sched::ContainerShare> asked;               // with them: what the pod asks for, by container
  QuotaRefusals quota;
  std::vector<std::size_t> kept;
  std::vector<Victims> victims;  // of `kept`; empty: those that were given
  sched::Offers offers{};        // by position
  std::vector<int> scores;       // by position
  NodeTablePtr table;
  /// Chosen, Done: not to be told from then on, since another replica may lead.
  Mono good_until = Mono::max();
};

/// Where the caller asks about this node; nullopt: it does not.
[[nodiscard]] std::optional<std::size_t> positionOf(const Candidates& c, const model::NodeName& node);
/// Empty: nothing is known of it, and its object was not given.
[[nodiscard]] model::NodeName nodeAt(const Candidates& c, std::size_t i);

/// How candidate `i` stood; nullptr: nothing is known of it, or it was decided earlier.
[[nodiscard]] const sched::NodeStanding* standingAt(const Answer& a, const Candidates& c, std::size_t i);

/// Of Preempt. `table`: the present one.
[[nodiscard]] Answer answerOf(engine::Preemption::Answer found, const NodeTablePtr& table);

using RequestId = std::uint64_t;  // names a request

}  // namespace gs::extender
