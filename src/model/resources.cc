#include "model/resources.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace gs::model {
namespace {

// Amounts come from outside: a sum that does not fit stays at the end of the range.
std::int64_t sumOf(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) { return sum; }
  return a < 0 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
}

std::int64_t differenceOf(std::int64_t a, std::int64_t b) {
  std::int64_t difference = 0;
  if (!__builtin_sub_overflow(a, b, &difference)) { return difference; }
  return a < 0 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
}

template <class Combine>
void combine(Resources& a, const Resources& b, Combine with) {
  a.cpu_milli = with(a.cpu_milli, b.cpu_milli);
  a.memory = with(a.memory, b.memory);
  a.ephemeral = with(a.ephemeral, b.ephemeral);
  auto next = a.extended.end();  // both are sorted: mostly the next one is the one, or would be
  for (const auto& [name, amount] : b.extended) {
    const auto entry = a.extended.try_emplace(next, name, 0);
    entry->second = with(entry->second, amount);
    next = entry->second == 0 ? a.extended.erase(entry) : std::next(entry);
  }
}

}  // namespace

Resources& Resources::operator+=(const Resources& o) {
  combine(*this, o, sumOf);
  return *this;
}

Resources& Resources::operator-=(const Resources& o) {
  combine(*this, o, differenceOf);
  return *this;
}

void Resources::raiseTo(const Resources& o) {
  combine(*this, o, [](std::int64_t a, std::int64_t b) { return std::max(a, b); });
}

std::int64_t Resources::get(const std::string& extended_name) const {
  const auto it = extended.find(extended_name);
  return it == extended.end() ? 0 : it->second;
}

}  // namespace gs::model
