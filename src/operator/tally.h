// Tally: what all node objects say of one cache, summed up as they say it.
//
// A node counts once: of two objects of one node (older versions could make two) the one that is named like
// the node counts, else the first. An object that says something, be it by a finalizer alone, keeps the cache
// from going. Each change costs what it changes. One thread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kcache/kinds/kinds.h"

namespace gs::gkm {

/// What one node object says of one cache.
struct Share {
  kcache::Counts counts;     // all 0: it only holds it
  std::string error;         // why its present image could not be extracted; "" nothing is wrong
  std::string unload_error;  // why an image could not be removed
  bool is_coming = false;    // its present image is being fetched
  friend bool operator==(const Share&, const Share&) = default;
};
/// A cause as Tally::error() gives it, without how many more there are.
[[nodiscard]] std::string_view firstCause(std::string_view cause);
/// `entries` nullptr: the object has the cache's finalizer and no more.
[[nodiscard]] Share shareOf(const kcache::Entries* entries, std::string_view present);

class Tally {
 public:
  /// `object`: the node object's name.
  void say(const std::string& node, const std::string& object, Share share);
  void unsay(const std::string& node, const std::string& object);

  [[nodiscard]] const kcache::Counts& counts() const { return total_; }
  /// Some object says something.
  [[nodiscard]] bool isHeld() const { return !nodes_.empty(); }
  /// Some node fetches its present image.
  [[nodiscard]] bool isComing() const { return coming_ > 0; }
  /// "node-a: no space left", of the first of them, and how many more; "" none.
  [[nodiscard]] std::string error() const { return first(errors_, &Share::error); }
  [[nodiscard]] std::string unloadError() const { return first(unload_errors_, &Share::unload_error); }
  /// Up to so many names of nodes that hold it.
  [[nodiscard]] std::vector<std::string> nodes(std::size_t most) const;
  [[nodiscard]] std::size_t nodeCount() const { return nodes_.size(); }
  /// Names of the objects.
  [[nodiscard]] std::vector<std::string> objects() const;

 private:
  using Objects = std::map<std::string, Share>;  // by name
  [[nodiscard]] static const Share& counted(const std::string& node, const Objects& objects);
  [[nodiscard]] std::string first(const std::set<std::string>& nodes, std::string Share::*what) const;
  void add(const std::string& node);
  void subtract(const std::string& node);

  std::map<std::string, Objects> nodes_;  // none is empty
  kcache::Counts total_;
  std::size_t coming_ = 0;        // nodes
  std::set<std::string> errors_;  // nodes
  std::set<std::string> unload_errors_;
};

}  // namespace gs::gkm
