// The oracle, a process of its own that answers line by line: test/testbed/modules/filter-oracle.
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "base/result.h"
#include "json/value.h"
#include "test/filters/answer.h"

namespace gs::filters {

class Oracle {
 public:
  /// Named pipes: it reads `to` and writes `from`. Waits until both are open.
  Oracle(const std::string& to, const std::string& from) : to_{to}, from_{from} {}

  /// As many as may wait in a pipe with their answers.
  static constexpr std::size_t kMostAtOnce = 64;
  /// Asks; what is not answered yet has to be received first. It goes on answering meanwhile.
  void send(const std::vector<json::Value>& questions);
  /// The answers to what was asked. Error: it has ended.
  [[nodiscard]] Result<std::vector<Answer>> receive();

 private:
  std::ofstream to_;
  std::ifstream from_;
  std::size_t asked_ = 0;
};

}  // namespace gs::filters
