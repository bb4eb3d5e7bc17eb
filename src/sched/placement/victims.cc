#include "sched/placement/victims.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace gs::sched {
bool isMoreImportant(const model::Pod& a, const model::Pod& b) {
  const auto key = [](const model::Pod& p) {
    return std::tuple{-std::int64_t{p.priority}, p.bound_at == Wall{} ? p.created : p.bound_at};
  };
  return key(a) != key(b) ? key(a) < key(b) : a.uid < b.uid;
}

RoomSearch::RoomSearch(NodeWithout node, NodePods pods) : node_{std::move(node)}, pods_{std::move(pods)} {
  for (const model::Pod* pod : pods_.given) { take(*pod); }
}

std::optional<Room> RoomSearch::look(const FitsOn& fits) {
  ++looks_;
  const bool is_enough = fits(node_.state(), given_back_);
  switch (without_) {
    case Without::Given:
      if (is_enough) { return room(Room::When::WithGiven); }
      for (const auto& uid : pods_.leaving) {
        node_.take(uid);
        given_back_ += chargeOf(uid);
      }
      if (pods_.leaving.empty()) { return takeLower(); }
      without_ = Without::Leaving;
      return std::nullopt;
    case Without::Leaving: return is_enough ? room(Room::When::WithLeaving) : takeLower();
    case Without::AllLower:
      if (!is_enough) { return room(Room::When::Never); }
      gone_.push_back({0, pods_.lower.size()});
      without_ = Without::SomeLower;
      return next();
    case Without::SomeLower: {
      const Range came_back = gone_.back();
      gone_.pop_back();
      if (!is_enough) { takeAgain(came_back); }
      return next();
    }
  }
  return std::nullopt;
}

std::optional<Room> RoomSearch::takeLower() {
  auto& lower = pods_.lower;
  if (lower.empty()) { return room(Room::When::Never); }
  if (!pods_.as_listed) {
    std::sort(lower.begin(), lower.end(),
              [](const auto* a, const auto* b) { return isMoreImportant(*a, *b); });
  }
  if (lower.size() > kMostLowerPods) {
    lower.erase(lower.begin(), lower.end() - static_cast<std::ptrdiff_t>(kMostLowerPods));
  }
  for (const model::Pod* pod : lower) { take(*pod); }
  without_ = Without::AllLower;
  return std::nullopt;
}

/// The next of those that are gone come back, all of them together.
std::optional<Room> RoomSearch::next() {
  if (gone_.empty()) { return room(Room::When::WithVictims); }
  for (std::size_t i = gone_.back().first; i < gone_.back().end; ++i) { comeBack(*pods_.lower[i]); }
  return std::nullopt;
}

/// It does not fit beside all of them. They come back by halves: who does is the same as one by one.
void RoomSearch::takeAgain(Range range) {
  for (std::size_t i = range.first; i < range.end; ++i) { take(*pods_.lower[i]); }
  if (range.end - range.first == 1) {
    victims_.push_back(pods_.lower[range.first]);
    return;
  }
  const std::size_t middle = range.first + (range.end - range.first) / 2;
  gone_.push_back({middle, range.end});
  gone_.push_back({range.first, middle});
}

std::int64_t RoomSearch::chargeOf(const model::Uid& uid) const {
  const auto it = pods_.charges.find(uid);
  return it == pods_.charges.end() ? 0 : it->second;
}

void RoomSearch::take(const model::Pod& pod) {
  node_.take(pod);
  if (pods_.tell) { pods_.tell(pod, true); }
  given_back_ += chargeOf(pod.uid);
}

void RoomSearch::comeBack(const model::Pod& pod) {
  node_.giveBack(pod);
  if (pods_.tell) { pods_.tell(pod, false); }
  given_back_ -= chargeOf(pod.uid);
}

}  // namespace gs::sched
