#include "scheduler/caches/node_caches.h"

#include <fmt/format.h>

#include <algorithm>

#include "controller/parts.h"
#include "scheduler/caches/extracted.h"

namespace gs::scheduler {
namespace {

constexpr std::size_t kMostNamed = 3;

std::vector<controller::Reflector::Config> kindsOf(bool is_on) {
  std::vector<controller::Reflector::Config> out;
  if (!is_on) { return out; }
  for (const kapi::Kind kind : {kExtracted, kClusterExtracted}) {
    controller::Reflector::Config& config = out.emplace_back();
    config.kind = kind;
    config.optional = true;
  }
  return out;
}

}  // namespace

NodeCaches::NodeCaches(std::int32_t weight, Rng& rng, controller::Owners owners)
    : weight_{weight},
      parts_{std::move(owners)},
      watches_{parts_, kindsOf(on()), rng, [this](const auto&, const auto& output, Now, kapi::Effects&) {
                 for (const auto& change : output.changes) { apply(change); }
               }} {}

void NodeCaches::apply(const controller::Change& change) {
  const auto object = change.object.as<ExtractedCaches>();
  static const std::vector<std::string> kNone;
  if (index_.put(change.key, object == nullptr ? kNone : object->names)) { changed_.push_back(change.key); }
}

void NodeCaches::note(Readiness& out) const {
  for (const auto& one : watches_.all()) {
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
