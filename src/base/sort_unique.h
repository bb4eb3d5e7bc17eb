// A list as a set: in order, each entry once.
#pragma once

#include <algorithm>
#include <vector>

namespace gs {

template <class T>
void sortUnique(std::vector<T>& list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

}  // namespace gs
