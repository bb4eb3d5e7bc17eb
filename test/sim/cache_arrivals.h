// The law that kernel caches come in time, whatever two slow registries do: each image that a cache of a
// serving registry names is on each machine, whole, within kWithin of the last thing that hindered it. So it
// comes beside images of others that never end, one in each of two namespaces, and a file that is damaged is
// good again. A damaged image that no cache names, and that a pod has mounted, cannot come again: of that the
// node's object says so within the same time.
//
// What hinders: its registry does not serve, its agent's calls fail, its agent begins anew, its disk is full,
// a file is damaged. Who was hindered has failed, and waits before it tries again: as long as it has been at
// it, at most. By so much it may be later. Registries that are slow, or drip, hinder nobody but themselves.
// One thread.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/clock.h"
#include "model/ids.h"

namespace gs::sim {

class CacheArrivals {
 public:
  static constexpr Duration kWithin = std::chrono::seconds{60};

  /// What is to be so on one machine.
  struct Due {
    std::string node;
    model::ObjectKey cache;
    std::string version;  // what is due of another one is due anew
    std::string what;     // "there"
    bool is_so = false;
    Mono hindered{};  // last
  };
  /// To be called every few seconds, with all of them. "" or the first that is late.
  [[nodiscard]] std::string look(Mono now, const std::vector<Due>& all);

 private:
  using Key = std::tuple<std::string, model::ObjectKey, std::string>;  // node, cache, version
  std::map<Key, Mono> since_;  // when it was so last, or was asked for
};

}  // namespace gs::sim
