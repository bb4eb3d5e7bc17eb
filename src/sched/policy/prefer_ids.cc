#include "sched/policy/prefer_ids.h"

#include "sched/policy/contiguous.h"
#include "sched/policy/first_set.h"

namespace gs::sched {

std::vector<int> listedIn(const Topology& t, Mask free, const std::vector<int>& ids) {
  std::vector<int> out;
  for (const int id : ids) {
    const int i = t.find(id);
    if (i < 0 || (free & bit(i)) == 0) { continue; }
    free &= ~bit(i);
    out.push_back(i);
  }
  return out;
}

std::optional<Mask> preferIds(const Topology& t, Mask free, const std::vector<int>& ids, const Terms& terms) {
  const std::vector<int> listed = listedIn(t, free, ids);
  if (static_cast<int>(listed.size()) >= terms.count) { return firstSet(t, listed, terms); }
  Mask must = 0;
  for (const int i : listed) { must |= bit(i); }
  return contiguous(t, free, terms, must);
}

std::optional<Mask> preferIdsShared(const Topology& t, const std::vector<int>& order,
                                    const std::vector<int>& ids, const Terms& terms) {
  Mask shareable = 0;
  for (const int i : order) { shareable |= bit(i); }
  const std::vector<int> listed = listedIn(t, shareable, ids);
  if (static_cast<int>(listed.size()) >= terms.count) { return firstSet(t, listed, terms); }
  Mask must = 0;
  for (const int i : listed) { must |= bit(i); }
  return firstSet(t, order, terms, must);
}

}  // namespace gs::sched
