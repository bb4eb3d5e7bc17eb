// CacheVolumes: sees to it that pods find caches by PersistentVolumeClaims, where caches want that: makes
// claims and volumes, and takes away those that are of no cache any more (volume_plan.h says which and
// when).
//
// Work is by claim: a change of a cache costs a look at its claims, one of a claim or volume a look at that
// one. At most one call per claim is under way; what fails is tried again with backoff, kLongestWait at
// most, since nobody says when a namespace appears or somebody's own claim of that name goes: those are not
// watched. One thread; time is an argument.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "controller/parts.h"
#include "model/object.h"
#include "operator/desk.h"
#include "operator/volume_plan.h"

namespace gs::gkm {

class CacheVolumes final : public controller::Part {
 public:
  static constexpr Duration kLongestWait = std::chrono::seconds{30};
  static constexpr Duration kGap = std::chrono::seconds{1};
  /// Bytes of a cache's files, 0: nobody knows.
  using SizeOf = std::function<std::int64_t(const model::ObjectKey& cache)>;

  explicit CacheVolumes(controller::Parts& parts);

  void changed(const model::Ptr<kcache::Cache>& cache);
  void gone(const model::ObjectKey& cache);
  void claimChanged(const model::Ptr<VolumeClaim>& claim);
  void claimGone(const model::ObjectKey& key, const model::Uid& uid);
  void volumeChanged(const model::Ptr<Volume>& volume);
  void volumeGone(const std::string& name, const model::Uid& uid);

  void lead();
  void reset() override;

  void handle(const kapi::Outcome& outcome, Now now, kapi::Effects& out) override;
  void go(Now now, const SizeOf& size_of, kapi::Effects& out);
  [[nodiscard]] std::optional<Mono> nextDue() const override;
  [[nodiscard]] bool underWay() const { return desk_.underWay() > 0; }

  /// How the claims of that cache are.
  [[nodiscard]] ClaimStandings standingsOf(const kcache::Cache& cache) const;
  /// Caches of whose claims something is new.
  [[nodiscard]] std::set<model::ObjectKey> takeNews() { return std::exchange(news_, {}); }

  [[nodiscard]] std::size_t claims() const { return claims_; }
  [[nodiscard]] std::size_t volumes() const { return volumes_.size(); }

 private:
  struct Slot {
    model::Ptr<kcache::Cache> own{};
    model::Ptr<kcache::Cache> wide{};
    model::Ptr<VolumeClaim> claim{};
    std::map<std::string, model::Ptr<Volume>> volumes{};  // by name
    ClaimStanding trouble{};                              // of the last call; Waiting: none
  };
  using Slots = std::map<model::ObjectKey, Slot>;  // by the claim

  [[nodiscard]] static VolumeSlot shown(const model::ObjectKey& place, const Slot& slot);
  void touch(const model::ObjectKey& place);
  void heard(const model::ObjectKey& place);
  void drop(const model::ObjectKey& place);
  void setCache(const model::ObjectKey& cache, const std::string& ns, const model::Ptr<kcache::Cache>& value);
  void look(const model::ObjectKey& place, const Slot& slot, const SizeOf& size_of, kapi::Effects& out);
  void failed(const model::ObjectKey& place, VolumeAct act, const kapi::Outcome& outcome, Now now,
              kapi::Effects& out);

  Desk<VolumeAct> desk_;
  Slots slots_;
  std::map<model::ObjectKey, std::set<std::string>> wants_;  // namespaces, by cache
  std::map<std::string, model::Ptr<Volume>> volumes_;        // ours, by name
  std::size_t claims_ = 0;
  std::set<model::ObjectKey> news_;
  bool is_leading_ = false;
};

}  // namespace gs::gkm
