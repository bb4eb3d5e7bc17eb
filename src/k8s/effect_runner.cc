#include "k8s/effect_runner.h"

#include <utility>
#include <vector>

#include "base/check.h"
#include "base/log.h"

namespace gs::k8s {
namespace {

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;  // clang 14 does not deduce it by itself

log::Level levelOf(kapi::Level level) {
  switch (level) {
    case kapi::Level::Debug: return log::Level::Debug;
    case kapi::Level::Info: return log::Level::Info;
    case kapi::Level::Warn: return log::Level::Warn;
    case kapi::Level::Error: break;
  }
  return log::Level::Error;
}

}  // namespace

void writeLog(const kapi::Log& line) {
  const log::Level level = levelOf(line.level);
  if (!log::enabled(level)) { return; }
  std::vector<log::Field> fields;
  fields.reserve(line.fields.size());
  for (const auto& [key, value] : line.fields) { fields.emplace_back(key, value); }
  log::write(level, line.message, fields);
}

EffectRunner::EffectRunner(Wiring wiring)
    : loop_{wiring.loop},
      metrics_{wiring.metrics},
      calls_{wiring.calls, wiring.connect, [this](kapi::Outcome outcome) { loop_.post(std::move(outcome)); },
             wiring.clock, wiring.gate},
      watches_{wiring.connect, [this](auto event) {
                 return std::visit([this](auto& one) { return loop_.post(std::move(one)); }, event);
               }} {}

EffectRunner::~EffectRunner() = default;

void EffectRunner::submit(kapi::Effects effects, std::uint64_t term) {
  const Overloaded carry_out{
      [&](kapi::Call& call) { calls_.submit(std::move(call), term); },
      [&](kapi::OpenWatch& watch) { watches_.open(std::move(watch)); },
      [&](const kapi::CloseWatch& watch) { watches_.close(watch.stream); },
      [](const kapi::Wake&) { GS_CHECK(false, "the loop keeps the timers"); },
      [](const kapi::Log& line) { writeLog(line); },
      [&](const kapi::Metric& metric) {
        if (metrics_ != nullptr) { metrics_->apply(metric); }
      },
  };
  for (kapi::Effect& effect : effects) { std::visit(carry_out, effect); }
}

void EffectRunner::drain(Duration limit) {
  watches_.stop();
  calls_.drain(limit);
}

}  // namespace gs::k8s
