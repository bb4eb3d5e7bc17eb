#include "kapi/fields.h"

#include <charconv>

#include "kapi/quantity.h"
#include "model/annotations.h"

namespace gs::kapi {

std::map<std::string, std::string> stringMap(const json::View& v) {
  std::map<std::string, std::string> out;
  for (const auto [key, value] : v.members()) {
    if (value.isString()) { out.emplace(key, value.str()); }
  }
  return out;
}

model::Writer writerField(const json::View& object) {
  const auto label = object["metadata"]["labels"][model::kWrittenByKey].str();
  return label == model::kByAgent       ? model::Writer::Agent
         : label == model::kByScheduler ? model::Writer::Scheduler
                                        : model::Writer::Unsaid;
}

std::int64_t bounded(const json::View& v, std::int64_t most, std::int64_t fallback) {
  const auto n = v.integer();
  return n && *n >= 0 && *n <= most ? *n : fallback;
}

std::optional<int> smallNumber(std::string_view text, int most) {
  int n = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc{} || end != text.data() + text.size() || n < 0 || n > most) { return std::nullopt; }
  return n;
}

bool addAmount(model::Resources& to, std::string_view name, const json::View& quantity) {
  if (name == "pods") { return true; }
  const auto amount = name == "cpu" ? milliOf(quantity) : unitsOf(quantity);
  if (!amount || *amount < 0) { return false; }
  model::Resources one;
  if (name == "cpu") {
    one.cpu_milli = *amount;
  } else if (name == "memory") {
    one.memory = *amount;
  } else if (name == "ephemeral-storage") {
    one.ephemeral = *amount;
  } else if (*amount > 0) {
    one.extended.emplace(name, *amount);
  }
  to += one;
  return true;
}

}  // namespace gs::kapi
