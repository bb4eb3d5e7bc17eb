#include "model/lease.h"

#include <algorithm>

namespace gs::model {

std::vector<Uid> Lease::uids() const {
  std::vector<Uid> out;
  if (shared()) {
    for (const auto& h : holders) { out.push_back(h.uid); }
  } else if (const Uid& uid = soleHolder(); !uid.empty()) {
    out.push_back(uid);
  }
  return out;
}

std::optional<ShareHolder> Lease::partOf(const Uid& who) const {
  if (!shared()) {
    if (who.empty() || soleHolder() != who) { return std::nullopt; }
    return ShareHolder{who, pod, 0, 0, reservation, devices};
  }
  const auto it = std::find_if(holders.begin(), holders.end(), [&](const auto& h) { return h.uid == who; });
  return it == holders.end() ? std::nullopt : std::optional{*it};
}

Uid Lease::soleHolder() const { return pod_uid.empty() ? Uid{holder} : pod_uid; }

}  // namespace gs::model
