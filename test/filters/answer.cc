#include "test/filters/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/ascii.h"

namespace gs::filters {
namespace {

Reasons reasonsOf(const json::Value& said) {
  Reasons out;
  for (const json::Value& words : said["reasons"].items()) {
    out.push_back({std::string{said["plugin"].str()}, std::string{words.str()}});
  }
  return out;
}

/// Texts of theirs that ours says in other words. A star at the end stands for whatever comes.
struct Row {
  std::string_view plugin;
  std::string_view words;
  std::string_view ours;  // kinds, with commas between
};
constexpr std::array kRows{
    Row{"NodeAffinity", "node(s) didn't satisfy plugin(s) [NodeAffinity]", "SelectorMismatch"},
    Row{"NodeAffinity", "pod affinity terms conflict", "SelectorMismatch"},
    Row{"TaintToleration", "node(s) had untolerated taint*", "UntoleratedTaint"},
    Row{"NodeResourcesFit", "Insufficient nvidia.com/gpu", "NoGpu,TooFewGpus,TooFewFree"},
    // In the releases that are served this one is said in two ways.
    Row{"VolumeRestrictions", "node has pod using PersistentVolumeClaim with the same name*",
        "VolumeOfOnePod"},
    Row{"VolumeRestrictions", "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod*",
        "VolumeOfOnePod"},
    // Of several drivers that are not there any is named.
    Row{"NodeVolumeLimits", "*CSI driver is not installed on the node", "NoSuchDriver"},
};

bool isLike(std::string_view text, std::string_view pattern) {
  if (!pattern.empty() && pattern.back() == '*') {
    return text.starts_with(pattern.substr(0, pattern.size() - 1));
  }
  if (!pattern.empty() && pattern.front() == '*') { return text.ends_with(pattern.substr(1)); }
  return text == pattern;
}

bool isIn(std::string_view kinds, const std::string& kind) {
  const std::vector<std::string> all = commaList(kinds);
  return std::find(all.begin(), all.end(), kind) != all.end();
}

/// Each of `all` is said by one of `others` too.
template <class Same>
bool areAmong(const Reasons& all, const Reasons& others, const Same& same) {
  return std::all_of(all.begin(), all.end(), [&](const Reason& one) {
    return std::any_of(others.begin(), others.end(), [&](const Reason& other) { return same(one, other); });
  });
}

bool agree(const Reasons& ours, const Reasons& theirs) {
  if (ours.empty() || theirs.empty()) { return false; }
  if (theirs.front().by != "NodeResourcesFit") {
    return std::any_of(theirs.begin(), theirs.end(),
                       [&](const Reason& one) { return isSame(ours.front(), one); });
  }
  return areAmong(ours, theirs, isSame) &&
         areAmong(theirs, ours, [](const Reason& a, const Reason& b) { return isSame(b, a); });
}

std::string textOf(const Reasons& reasons) {
  std::string out;
  for (const Reason& one : reasons) {
    out += fmt::format("{}{}: {}", out.empty() ? "" : " | ", one.by, one.words);
  }
  return out.empty() ? "fits" : out;
}

/// Of what stands between quotes, and of numbers and braces after names, others would be of the same kind.
std::string kindOf(const Reasons& reasons) {
  std::string out;
  for (const Reason& one : reasons) {
    std::string_view words = one.words;
    words = words.substr(0, words.find_first_of("\"{0123456789"));
    out += fmt::format("{}{}: {}", out.empty() ? "" : " | ", one.by, words);
  }
  return out.empty() ? "fits" : out;
}

Difference differ(const std::string& what, const Reasons& ours, const Reasons& theirs) {
  return {fmt::format("ours: {}; theirs: {}", kindOf(ours), kindOf(theirs)),
          fmt::format("{}: ours: {}; theirs: {}", what, textOf(ours), textOf(theirs))};
}

}  // namespace

bool isSame(const Reason& ours, const Reason& theirs) {
  std::string words = theirs.words;  // a comma parts reasons in what we say, so there is none in ours
  std::replace(words.begin(), words.end(), ',', ';');
  if (ours.words == words || ours.words == theirs.words) { return true; }
  return std::any_of(kRows.begin(), kRows.end(), [&](const Row& row) {
    return (theirs.by.empty() || row.plugin == theirs.by) && isLike(theirs.words, row.words) &&
           isIn(row.ours, ours.by);
  });
}

Answer theirAnswer(const json::Value& line) {
  Answer out;
  out.error = std::string{line["error"].str()};
  for (const json::Value& node : line["feasible"].items()) { out.feasible.emplace(node.str()); }
  for (const auto& [node, said] : line["nodes"].members()) { out.nodes[node] = reasonsOf(said); }
  out.pod = reasonsOf(line["prefilter"]);
  return out;
}

json::Value asJson(const Answer& answer) {
  const auto list = [](const Reasons& reasons) {
    json::Array out;
    for (const Reason& one : reasons) { out.push_back(json::Object{{"by", one.by}, {"words", one.words}}); }
    return out;
  };
  json::Object nodes;
  for (const auto& [node, reasons] : answer.nodes) { nodes.set(node, list(reasons)); }
  json::Object out{{"feasible", json::Array{answer.feasible.begin(), answer.feasible.end()}},
                   {"nodes", std::move(nodes)}};
  if (!answer.pod.empty()) { out.set("pod", list(answer.pod)); }
  if (!answer.unserved.empty()) { out.set("unserved", answer.unserved); }
  if (!answer.error.empty()) { out.set("error", answer.error); }
  return out;
}

Difference differenceOf(const Answer& ours, const Answer& theirs) {
  if (!theirs.error.empty()) { return {"kube-scheduler's error: " + theirs.error, theirs.error}; }
  if (!ours.pod.empty()) {
    return agree(ours.pod, theirs.pod) ? Difference{} : differ("the pod", ours.pod, theirs.pod);
  }
  for (const std::string& node : ours.feasible) {
    const auto refused = theirs.nodes.find(node);
    if (refused != theirs.nodes.end()) { return differ(node, {}, refused->second); }
  }
  for (const auto& [node, reasons] : ours.nodes) {
    const auto refused = theirs.nodes.find(node);
    if (refused == theirs.nodes.end()) { return differ(node, reasons, {}); }
    if (!agree(reasons, refused->second)) { return differ(node, reasons, refused->second); }
  }
  if (ours.feasible != theirs.feasible) { return {"the nodes", "not every node is known to both sides"}; }
  return {};
}

}  // namespace gs::filters
