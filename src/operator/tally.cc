#include "operator/tally.h"

#include <fmt/format.h>

namespace gs::gkm {

using kcache::State;

namespace {

constexpr std::string_view kBeforeMore = " (and ";

}  // namespace

Share shareOf(const kcache::Entries* entries, std::string_view present) {
  Share out;
  if (entries == nullptr) { return out; }
  out.counts = kcache::countsOf(*entries, present);
  for (const auto& [digest, entry] : *entries) {
    if (!entry.condition || entry.condition->state == State::Pending) {
      out.is_coming |= digest == present;
      continue;
    }
    const auto& [state, message, since] = *entry.condition;
    const bool is_error = state == State::Error && digest == present;
    if (!is_error && state != State::UnloadError) { continue; }
    std::string cause{kcache::causeIn(state, message)};
    if (cause.empty()) { cause = "the agent gives no cause"; }
    (is_error ? out.error : out.unload_error) = std::move(cause);
  }
  return out;
}

std::string_view firstCause(std::string_view cause) { return cause.substr(0, cause.rfind(kBeforeMore)); }

const Share& Tally::counted(const std::string& node, const Objects& objects) {
  const auto own = objects.find(node);
  return own == objects.end() ? objects.begin()->second : own->second;
}

void Tally::add(const std::string& node) {
  const auto it = nodes_.find(node);
  if (it == nodes_.end()) { return; }
  const Share& share = counted(node, it->second);
  total_ += share.counts;
  if (share.is_coming) { ++coming_; }
  if (!share.error.empty()) { errors_.insert(node); }
  if (!share.unload_error.empty()) { unload_errors_.insert(node); }
}

void Tally::subtract(const std::string& node) {
  const auto it = nodes_.find(node);
  if (it == nodes_.end()) { return; }
  const Share& share = counted(node, it->second);
  total_ -= share.counts;
  if (share.is_coming) { --coming_; }
  errors_.erase(node);
  unload_errors_.erase(node);
}

void Tally::say(const std::string& node, const std::string& object, Share share) {
  subtract(node);
  nodes_[node].insert_or_assign(object, std::move(share));
  add(node);
}

void Tally::unsay(const std::string& node, const std::string& object) {
  const auto it = nodes_.find(node);
  if (it == nodes_.end()) { return; }
  subtract(node);
  it->second.erase(object);
  if (it->second.empty()) { nodes_.erase(it); }
  add(node);
}

std::string Tally::first(const std::set<std::string>& nodes, std::string Share::*what) const {
  if (nodes.empty()) { return {}; }
  const std::string& node = *nodes.begin();
  const std::string& cause = counted(node, nodes_.at(node)).*what;
  if (nodes.size() == 1) { return fmt::format("{}: {}", node, cause); }
  return fmt::format("{}: {}{}{} more)", node, cause, kBeforeMore, nodes.size() - 1);
}

std::vector<std::string> Tally::nodes(std::size_t most) const {
  std::vector<std::string> out;
  for (const auto& [node, objects] : nodes_) {
    if (out.size() == most) { break; }
    out.push_back(node);
  }
  return out;
}

std::vector<std::string> Tally::objects() const {
  std::vector<std::string> out;
  for (const auto& [node, objects] : nodes_) {
    for (const auto& [name, share] : objects) { out.push_back(name); }
  }
  return out;
}

}  // namespace gs::gkm
