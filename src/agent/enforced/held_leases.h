// HeldLeases: what the pods that are bound to this node hold, by their Leases. What a pod's annotations say
// is only a claim. Each device that it names has a Lease, which is got; when all of them name the pod, by the
// reservation that it was bound with, the pod holds them (Hold::Verified).
//
//   Unverified  its leases are being read, or could not be: got again after a wait
//   Verified    all are its own. They are not read again: no lease of a bound pod goes before it has ended
//   Refuted     one is missing, another pod's, of another reservation, or nobody can read it: got again after
//               a wait, longer each time. Or what the pod says is nonsense: until it says something else
//
// Read again from the beginning when a pod says something else. What it held by then stays held: its
// containers have it still. A pod that was given a count of GPUs and no names has no leases, and holds
// nothing.
// A pod is forgotten when it has ended, or its object is gone, and it has no container any more (sweep()):
// no other pod is given its GPUs before that.
//
// At most kUnderWay GETs are under way, and each pod has its turn, one device at a time; who is refuted asks
// for no more. So whoever makes pods with annotations of their own costs others a turn, and one GET per wait.
// A part of its machine's; one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/enforced/lease_check.h"
#include "agent/enforced/said.h"
#include "base/random.h"
#include "controller/backoff.h"
#include "controller/parts.h"
#include "enforce/device_table.h"
#include "enforce/node_record.h"
#include "kapi/call.h"
#include "model/pod.h"

namespace gs::agent {

class HeldLeases final : public controller::Part {
 public:
  static constexpr std::size_t kUnderWay = 8;
  static constexpr kapi::RetryTerms kTerms{std::chrono::milliseconds{500}, std::chrono::seconds{60}};

  struct Config {
    model::NodeName node;
    std::string lease_namespace;
  };
  /// `rng` must live as long.
  HeldLeases(Config config, controller::Parts& parts, Rng& rng);

  /// Whether leases are read. At first they are not.
  void read(bool is_on) { is_on_ = is_on; }
  /// A pod of this node, as the API has it.
  void changed(const model::Pod& pod);
  void gone(const model::Uid& uid);
  /// Who has ended and has no containers is forgotten.
  void sweep(const std::function<bool(const model::Uid& uid)>& has_containers);

  void handle(const kapi::Outcome& outcome, Now now, kapi::Effects& out) override;
  void tick(Now now, kapi::Effects& out) override;
  [[nodiscard]] std::optional<Mono> nextDue() const override { return waits_.nextDue(); }
  [[nodiscard]] std::size_t size() const override { return pods_.size(); }

  /// Holdings and what leases hold, to a record that has its devices.
  void fill(enforce::NodeRecord& record) const;
  /// Something came of the first reading of every pod, be it that it failed.
  [[nodiscard]] bool allAnswered() const;
  /// Counts what fill() may say otherwise.
  [[nodiscard]] std::uint64_t changes() const { return changes_; }
  /// For which pod that call is; nullopt: it is none that is under way.
  [[nodiscard]] std::optional<model::Uid> askedFor(kapi::Token call) const;
  /// Why leases cannot be read; "" they can, or none was asked for yet.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }

 private:
  /// A device that a lease gives a pod.
  struct Leased {
    model::DeviceId id;
    std::string uuid;  // of the GPU that is meant; "" not said
    bool is_shared = false;
  };
  struct Pod {
    Said said;
    enforce::Hold hold = enforce::Hold::Unverified;
    std::string why;
    bool is_new = true;  // nothing came of its first reading yet
    bool is_in_line = false;
    std::uint64_t reading = 0;                                     // its number; 0: none goes on
    std::size_t asked = 0;                                         // devices, in it
    std::vector<Leased> read;                                      // in it; those of its own
    std::vector<Leased> leased;                                    // when it was verified last
    std::uint64_t verified = 0;                                    // when that was, as a count
    std::optional<std::pair<model::DeviceId, model::Uid>> others;  // a device that a lease gives that pod
  };
  struct Asked {
    model::Uid pod;
    std::uint64_t reading = 0;
    model::DeviceId device;
  };

  void say(const model::Uid& uid, Pod& pod, Said said);
  void begin(const model::Uid& uid, Pod& pod);
  void standInLine(const model::Uid& uid, Pod& pod);
  void ask(kapi::Effects& out);
  void answered(const Asked& asked, Pod& pod, const kapi::Outcome& outcome, Now now, kapi::Effects& out);
  void isIts(const Asked& asked, Pod& pod, const LeaseSays& says);
  /// The reading is over, and comes to that.
  void settle(Pod& pod, enforce::Hold hold, std::string why);
  void tryAgain(const model::Uid& uid, const kapi::Outcome& outcome, Now now);
  [[nodiscard]] enforce::Holding holdingOf(const Pod& pod, const enforce::DeviceTable& table) const;

  const Config config_;
  const std::uint8_t owner_;
  Rng& rng_;
  bool is_on_ = false;
  std::map<model::Uid, Pod> pods_;
  std::set<model::Uid> over_;  // of those, who has ended or is gone
  std::deque<model::Uid> line_;
  std::map<kapi::Token, Asked> calls_;
  controller::Backoff<model::Uid> waits_{kTerms};
  std::uint64_t next_token_ = 1;
  std::uint64_t readings_ = 0;
  std::uint64_t verified_ = 0;
  std::uint64_t changes_ = 0;
  std::string trouble_;
};

}  // namespace gs::agent
