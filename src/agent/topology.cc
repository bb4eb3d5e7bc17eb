#include "agent/topology.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace gs::agent {
namespace {

struct Island {
  LinkType type{};
  std::vector<std::size_t> members;
  std::optional<std::int64_t> worst;
};

class Links {
 public:
  Links(std::size_t count, const std::vector<PairLink>& links) : has_nvlink_(count, false) {
    for (const PairLink& link : links) {
      if (link.a == link.b || link.a >= count || link.b >= count) { continue; }
      const auto [it, is_new] = best_.try_emplace(std::minmax(link.a, link.b), link);
      if (!is_new && isBetter(link, it->second)) { it->second = link; }
      if (link.type == LinkType::NvLink) { has_nvlink_[link.a] = has_nvlink_[link.b] = true; }
    }
  }
  [[nodiscard]] const PairLink* between(std::size_t a, std::size_t b) const {
    const auto it = best_.find(std::minmax(a, b));
    return it == best_.end() ? nullptr : &it->second;
  }
  [[nodiscard]] LinkType typeOf(std::size_t gpu) const {
    return has_nvlink_[gpu] ? LinkType::NvLink : LinkType::Pcie;
  }
  [[nodiscard]] bool joins(std::size_t gpu, const Island& island) const {
    return island.type == typeOf(gpu) &&
           std::all_of(island.members.begin(), island.members.end(), [&](std::size_t member) {
             const PairLink* link = between(gpu, member);
             return link != nullptr && link->type == island.type;
           });
  }

 private:
  static bool isBetter(const PairLink& a, const PairLink& b) {
    return a.type == b.type ? a.gbps > b.gbps : a.type == LinkType::NvLink;
  }
  std::map<std::pair<std::size_t, std::size_t>, PairLink> best_;
  std::vector<bool> has_nvlink_;
};

void add(Island& island, std::size_t gpu, const Links& links) {
  for (const std::size_t member : island.members) {
    const std::int64_t gbps = links.between(gpu, member)->gbps;
    island.worst = std::min(island.worst.value_or(gbps), gbps);
  }
  island.members.push_back(gpu);
}

}  // namespace

std::vector<Place> islandsOf(std::size_t count, const std::vector<PairLink>& links) {
  const Links known{count, links};
  std::vector<Island> islands;
  for (std::size_t gpu = 0; gpu < count; ++gpu) {
    const auto fits = [&](const Island& island) { return known.joins(gpu, island); };
    auto it = std::find_if(islands.begin(), islands.end(), fits);
    if (it == islands.end()) { it = islands.insert(islands.end(), Island{known.typeOf(gpu), {}, {}}); }
    add(*it, gpu, known);
  }
  std::vector<Place> out(count);
  for (std::size_t i = 0; i < islands.size(); ++i) {
    for (const std::size_t gpu : islands[i].members) {
      out[gpu] = {std::to_string(i), islands[i].worst.value_or(0)};
    }
  }
  return out;
}

}  // namespace gs::agent
