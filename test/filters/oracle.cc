#include "test/filters/oracle.h"

#include <utility>

namespace gs::filters {

void Oracle::send(const std::vector<json::Value>& questions) {
  for (const json::Value& one : questions) { to_ << json::print(one) << '\n'; }
  to_.flush();
  asked_ = questions.size();
}

Result<std::vector<Answer>> Oracle::receive() {
  std::vector<Answer> out;
  for (std::size_t n = std::exchange(asked_, 0); n > 0; --n) {
    std::string line;
    if (!std::getline(from_, line)) {
      return fail(Code::Unavailable, "filter-oracle has ended: see what it says");
    }
    auto said = json::parse(line);
    if (!said) { return fail(Code::Internal, "filter-oracle's answer is no JSON: " + said.error().message); }
    out.push_back(theirAnswer(*said));
  }
  return out;
}

}  // namespace gs::filters
