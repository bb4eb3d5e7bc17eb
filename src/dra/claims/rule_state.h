// What the devices that were chosen so far say of one constraint: which values it takes yet.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "dra/claims/view.h"

namespace gs::dra {

class RuleState {
 public:
  explicit RuleState(bool distinct) : distinct_{distinct} {}

  /// A device with this value may be added. What was refused stays so, whatever is added.
  [[nodiscard]] bool takes(int value) const {
    if (value == View::kAbsent) { return false; }
    if (values_.empty()) { return true; }
    if (value == View::kUnserved || values_.front() == View::kUnserved) { return false; }
    return distinct_ ? std::find(values_.begin(), values_.end(), value) == values_.end()
                     : values_.front() == value;
  }
  void add(int value) { values_.push_back(value); }
  /// What was added last.
  void remove() { values_.pop_back(); }

 private:
  bool distinct_;
  std::vector<int> values_;
};

}  // namespace gs::dra
