#include "sched/placement/victims.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace gs::sched {
namespace {

class Search {
 public:
  Search(NodeWithout& node, NodePods pods, const FitsOn& fits)
      : node_{node}, pods_{std::move(pods)}, fits_{fits} {}

  Room run() {
    for (const model::Pod* pod : pods_.given) { take(*pod); }
    if (isEnough()) { return room(Room::When::WithGiven); }
    for (const auto& uid : pods_.leaving) {
      node_.take(uid);
      given_back_ += chargeOf(uid);
    }
    if (!pods_.leaving.empty() && isEnough()) { return room(Room::When::WithLeaving); }
    auto& lower = pods_.lower;
    const auto before = [](const auto* a, const auto* b) { return isMoreImportant(*a, *b); };
    std::sort(lower.begin(), lower.end(), before);
    if (lower.size() > kMostLowerPods) {
      lower.erase(lower.begin(), lower.end() - static_cast<std::ptrdiff_t>(kMostLowerPods));
    }
    for (const model::Pod* pod : lower) { take(*pod); }
    if (lower.empty() || !isEnough()) { return room(Room::When::Never); }
    giveBack(0, lower.size());
    return room(Room::When::WithVictims);
  }

 private:
  Room room(Room::When when) { return {when, std::move(victims_), looks_}; }
  [[nodiscard]] std::int64_t chargeOf(const model::Uid& uid) const {
    const auto it = pods_.charges.find(uid);
    return it == pods_.charges.end() ? 0 : it->second;
  }
  void take(const model::Pod& pod) {
    node_.take(pod);
    given_back_ += chargeOf(pod.uid);
  }
  void comeBack(const model::Pod& pod) {
    node_.giveBack(pod);
    given_back_ -= chargeOf(pod.uid);
  }
  bool isEnough() {
    ++looks_;
    return fits_(node_.state(), given_back_);
  }
  /// Those from `first` to `end` are gone. Together where the pod fits beside all of them, else by halves:
  /// who comes back is the same as one by one.
  void giveBack(std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) { comeBack(*pods_.lower[i]); }
    if (isEnough()) { return; }
    for (std::size_t i = first; i < end; ++i) { take(*pods_.lower[i]); }
    if (end - first == 1) {
      victims_.push_back(pods_.lower[first]);
      return;
    }
    const std::size_t middle = first + (end - first) / 2;
    giveBack(first, middle);
    giveBack(middle, end);
  }

  NodeWithout& node_;
  NodePods pods_;
  const FitsOn& fits_;
  std::int64_t given_back_ = 0;
  std::vector<const model::Pod*> victims_;
  std::size_t looks_ = 0;
};

}  // namespace

bool isMoreImportant(const model::Pod& a, const model::Pod& b) {
  const auto key = [](const model::Pod& p) {
    return std::tuple{-std::int64_t{p.priority}, p.bound_at == Wall{} ? p.created : p.bound_at};
  };
  return key(a) != key(b) ? key(a) < key(b) : a.uid < b.uid;
}

Room roomFor(NodeWithout& node, NodePods pods, const FitsOn& fits) {
  return Search{node, std::move(pods), fits}.run();
}

}  // namespace gs::sched
