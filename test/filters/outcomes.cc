#include "test/filters/outcomes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

namespace gs::filters {
namespace {

/// The reasons of "0/3 nodes are available: 2 Insufficient cpu, 1 Too many pods. preemption: ...", without
/// their numbers.
std::set<std::string> partsOf(std::string_view message) {
  const auto head = message.find(": ");
  if (head == std::string_view::npos) { return {std::string{message}}; }
  message.remove_prefix(head + 2);
  message = message.substr(0, message.find(". "));
  if (message.ends_with('.')) { message.remove_suffix(1); }
  std::set<std::string> out;
  while (!message.empty()) {
    std::string_view part = message.substr(0, message.find(", "));
    message.remove_prefix(std::min(message.size(), part.size() + 2));
    const auto words = part.find_first_not_of("0123456789");
    if (words != std::string_view::npos && words > 0 && part[words] == ' ') { part.remove_prefix(words + 1); }
    out.emplace(part);
  }
  return out;
}

std::string textOf(const Outcome& outcome) {
  return outcome.node.empty() ? fmt::format("waits: {}", outcome.message) : "is on " + outcome.node;
}

Reasons allOf(const Answer& answer) {
  Reasons out = answer.pod;
  for (const auto& [node, reasons] : answer.nodes) { out.insert(out.end(), reasons.begin(), reasons.end()); }
  return out;
}

/// A reason that is not among the parts, or a part that is no reason; "": there is none.
template <class Same>
std::string oddOf(const Reasons& reasons, const std::set<std::string>& parts, const Same& same) {
  for (const Reason& one : reasons) {
    const auto is_it = [&](const std::string& part) { return same(one, part); };
    if (std::none_of(parts.begin(), parts.end(), is_it)) { return "it does not say: " + one.words; }
  }
  for (const std::string& part : parts) {
    const auto is_it = [&](const Reason& one) { return same(one, part); };
    if (std::none_of(reasons.begin(), reasons.end(), is_it)) { return "it says besides: " + part; }
  }
  return "";
}

}  // namespace

Outcome outcomeOf(const json::Value& said) {
  return {std::string{said["node"].str()}, std::string{said["message"].str()}};
}

std::string differenceOfOutcomes(const Answer& answer, const Outcome& ours, const Outcome& theirs) {
  const std::string both = fmt::format("ours {}; theirs {}", textOf(ours), textOf(theirs));
  if (!answer.unserved.empty()) { return "not served: " + answer.unserved; }
  if (ours.node.empty() != theirs.node.empty() || ours.node.empty() != answer.feasible.empty()) {
    return fmt::format("by our filters {} node(s) fit; {}", answer.feasible.size(), both);
  }
  if (!ours.node.empty()) {
    const bool fit = answer.feasible.contains(ours.node) && answer.feasible.contains(theirs.node);
    return fit ? "" : "a node that our filters refuse; " + both;
  }
  const Reasons reasons = allOf(answer);
  const std::string our_odd = oddOf(reasons, partsOf(ours.message),
                                    [](const Reason& one, const auto& part) { return one.words == part; });
  if (!our_odd.empty()) { return fmt::format("of ours {}; {}", our_odd, both); }
  const std::string their_odd =
      oddOf(reasons, partsOf(theirs.message), [](const Reason& one, const auto& part) {
        return isSame(one, Reason{"", part});
      });
  return their_odd.empty() ? "" : fmt::format("of theirs {}; {}", their_odd, both);
}

}  // namespace gs::filters
