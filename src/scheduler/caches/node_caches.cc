#include "scheduler/caches/node_caches.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "controller/parts.h"
#include "scheduler/caches/extracted.h"

namespace gs::scheduler {
namespace {

constexpr std::size_t kMostNamed = 3;

/// Off: no number is drawn, so that nobody's later ones are other ones.
controller::Reflector watchOf(kapi::Kind kind, std::uint8_t place, bool is_on, Rng& rng) {
  controller::Reflector::Config config;
  config.kind = kind;
  config.owner = static_cast<std::uint8_t>(controller::kNodeCacheOwners.first + place);
  config.optional = true;
  return {std::move(config), is_on ? rng.split() : Rng{0}};
}

}  // namespace

NodeCaches::NodeCaches(std::int32_t weight, Rng& rng)
    : weight_{weight},
      reflectors_{watchOf(kExtracted, 0, on(), rng), watchOf(kClusterExtracted, 1, on(), rng)} {}

void NodeCaches::start(Now now, kapi::Effects& out) {
  if (!on()) { return; }
  for (auto& one : reflectors_) { take(one, one.start(now), out); }
}

bool NodeCaches::handle(const kapi::MachineEvent& event, Now now, kapi::Effects& out) {
  const auto give = [&](kapi::Token token, const auto& what) {
    const std::size_t at = std::size_t{kapi::tokenOwner(token)} - controller::kNodeCacheOwners.first;
    if (!on() || at >= reflectors_.size()) { return false; }
    take(reflectors_.at(at), reflectors_.at(at).handle(what, now), out);
    return true;
  };
  if (const auto* outcome = std::get_if<kapi::Outcome>(&event)) { return give(outcome->token, *outcome); }
  if (const auto* watch = std::get_if<kapi::WatchEvent>(&event)) { return give(watch->stream, *watch); }
  if (const auto* ended = std::get_if<kapi::WatchEnded>(&event)) { return give(ended->stream, *ended); }
  return false;
}

void NodeCaches::tick(Now now, kapi::Effects& out) {
  if (!on()) { return; }
  for (auto& one : reflectors_) { take(one, one.tick(now), out); }
}

void NodeCaches::take(const controller::Reflector& reflector, controller::Reflector::Output output,
                      kapi::Effects& out) {
  for (const auto& change : output.changes) { apply(change); }
  if (output.went_back) { went_back_ = reflector.kind()->plural; }
  std::move(output.effects.begin(), output.effects.end(), std::back_inserter(out));
}

void NodeCaches::apply(const controller::Change& change) {
  const auto object = change.object.as<ExtractedCaches>();
  static const std::vector<std::string> kNone;
  if (index_.put(change.key, object == nullptr ? kNone : object->names)) { changed_.push_back(change.key); }
}

void NodeCaches::note(Readiness& out) const {
  if (!on()) { return; }
  for (const auto& one : reflectors_) {
    const std::string& trouble = one.trouble();
    out.note(fmt::format("cache/{}", one.kind()->plural), !trouble.empty() ? "ok, without it: " + trouble
                                                          : one.synced()   ? ""
                                                                           : "ok, not listed yet");
  }
}

std::size_t NodeCaches::extractedThere(const Keys& caches, const model::NodeName& node) const {
  return static_cast<std::size_t>(std::count_if(caches.begin(), caches.end(),
                                                [&](const auto& cache) { return index_.has(node, cache); }));
}

std::int32_t NodeCaches::bonus(const Keys& caches, const model::NodeName& node) const {
  if (caches.empty()) { return 0; }
  const auto there = static_cast<std::int64_t>(extractedThere(caches, node));
  return static_cast<std::int32_t>(weight_ * there / static_cast<std::int64_t>(caches.size()));
}

std::string NodeCaches::saidThere(const Keys& caches, const model::NodeName& node) const {
  if (!on() || caches.empty()) { return ""; }
  return fmt::format("{} of {} kernel cache{} extracted there", extractedThere(caches, node), caches.size(),
                     caches.size() == 1 ? "" : "s");
}

std::string NodeCaches::saidOf(const Keys& caches) const {
  if (!on() || caches.empty()) { return ""; }
  std::string out = "Kernel caches:";
  for (std::size_t i = 0; i < std::min(caches.size(), kMostNamed); ++i) {
    out +=
        fmt::format("{} {} on {} node(s)", i == 0 ? "" : ",", caches[i].text(), index_.nodesWith(caches[i]));
  }
  if (caches.size() > kMostNamed) { out += fmt::format(", and {} more", caches.size() - kMostNamed); }
  return out + ".";
}

}  // namespace gs::scheduler
