// Gauges: what a machine tells of its state, each value once. tell() makes an effect where the value of a
// gauge is another one than was told last. What was told is kept for good: so labels have a few values, and
// are no names of objects.
// One thread.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kapi/call.h"

namespace gs::controller {

class Gauges {
 public:
  using Labels = decltype(kapi::Metric::labels);

  /// `name`: as kapi::Metric has it.
  void tell(const char* name, Labels labels, double value, kapi::Effects& out) {
    auto [known, is_new] = told_.try_emplace({name, labels}, value);
    if (!is_new && std::exchange(known->second, value) == value) { return; }
    out.emplace_back(kapi::Metric{kapi::MetricOp::Set, name, std::move(labels), value});
  }
  void tell(const char* name, double value, kapi::Effects& out) { tell(name, {}, value, out); }

 private:
  std::map<std::pair<std::string, Labels>, double> told_;
};

}  // namespace gs::controller
