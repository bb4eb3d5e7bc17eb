#include "extender/protocol/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "base/check.h"
#include "json/value.h"
#include "sched/policy/tightest.h"

namespace gs::extender {
namespace {

using Kind = Answer::Kind;

std::string quoted(std::string_view text) {
  std::string out;
  json::appendString(out, text);
  return out;
}

/// Quoted. It is written for each of so many nodes, and what is in it may come from a body: so it is cut when
/// all would be over 16 MiB.
std::string reason(std::string_view text, std::size_t nodes) {
  constexpr std::size_t kAll = std::size_t{16} << 20;
  constexpr std::size_t kLongestEscape = 6;  // of a byte: \u0001
  const std::size_t longest = kAll / std::max<std::size_t>(nodes, 1);
  std::string whole = quoted(text);
  return whole.size() <= longest ? whole
                                 : quoted(fmt::format("{}...", text.substr(0, longest / kLongestEscape)));
}

/// Writes the reason of every candidate that is not the pod's. Reasons are few and nodes many:
/// each is made once.
class FailedNodes {
 public:
  FailedNodes(const FilterArgs& args, const Candidates& c, const Answer& a, std::string_view uid)
      : args_{args}, c_{c}, a_{a}, uid_{uid} {}

  void appendTo(std::string& out) {
    out += '{';
    bool first = true;
    for (std::size_t i = 0; i < args_.nodes.size(); ++i) {
      if (a_.kind == Kind::Chosen && i == a_.chosen) { continue; }
      if (!first) { out += ','; }
      first = false;
      out += '"';
      out += args_.nodes[i].name;
      out += "\":";
      out += reasonOf(i);
    }
    out += '}';
  }

 private:
  const std::string& reasonOf(std::size_t i) {
    if (!a_.text.empty()) {
      return once(own_, [&] { return a_.text; });
    }
    const sched::NodeStanding* standing = standingAt(a_, c_, i);
    const bool matched =
        a_.kind == Kind::Chosen && (standing == nullptr ? a_.standings == nullptr : comesAfter(i, *standing));
    if (matched) {
      return once(matched_,
                  [&] { return fmt::format("pod {} has already been matched to another node", uid_); });
    }
    return once(slotOf(i, standing), [&] { return misfitAt(a_, c_, i, uid_).text; });
  }
  /// Nodes whose texts are the same have the same.
  std::string& slotOf(std::size_t i, const sched::NodeStanding* standing) {
    if (standing == nullptr) { return reasons_.back(); }
    const sched::Reason reason = standing->refused.value_or(sched::Reason::TooFewFree);
    const bool has_numbers = reason == sched::Reason::TooFewFree || reason == sched::Reason::ExceedsQuota;
    if (!has_numbers) { return reasons_.at(static_cast<std::size_t>(reason)); }
    if (numbered_.size() >= kMostKept) { numbered_.clear(); }
    const std::string* of_quota = a_.quota.at(i);
    return numbered_[{of_quota, standing->devices, standing->whole, standing->most_milli,
                      standing->most_mib}];
  }
  template <class Make>
  const std::string& once(std::string& slot, const Make& make) const {
    if (slot.empty()) { slot = reason(make(), args_.nodes.size()); }
    return slot;
  }
  /// It was not looked at, since the chosen one came before it.
  [[nodiscard]] bool comesAfter(std::size_t i, const sched::NodeStanding& standing) const {
    if (standing.refused == sched::Reason::NoGpu || standing.refused == sched::Reason::ExceedsQuota ||
        standing.refused == sched::Reason::ManagedByOther) {
      return false;
    }
    const sched::NodeStanding& chosen = a_.chosen_standing;
    const auto free = [](const sched::NodeStanding& s) { return std::tie(s.free_milli, s.free_mib); };
    return free(standing) != free(chosen) ? free(chosen) < free(standing)
                                          : args_.nodes[a_.chosen].name < args_.nodes[i].name;
  }

  const FilterArgs& args_;
  const Candidates& c_;
  const Answer& a_;
  std::string_view uid_;
  std::string matched_;
  std::string own_;
  static constexpr std::size_t kReasons =
      static_cast<std::size_t>(sched::Reason::NotTakenYet) + 1;  // its last one
  std::array<std::string, kReasons + 1> reasons_;  // by sched::Reason, and one for nodes that are not known
  using Numbers = std::tuple<const std::string*, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
  static constexpr std::size_t kMostKept = 256;  // texts, so that a long uid does not fill the memory
  std::map<Numbers, std::string> numbered_;
};

constexpr std::size_t kUsualReason = 160;  // bytes that a failed node takes beside its name

/// ExtenderFilterResult; `failed` appends the value of FailedNodes.
template <class Failed>
std::string filterResult(std::string_view nodes, std::string_view names, std::size_t failed_size,
                         const Failed& failed, std::string_view error, std::string_view never = "null") {
  std::string out;
  out.reserve(nodes.size() + names.size() + failed_size + error.size() + 128);
  out += "{\"Nodes\":";
  out += nodes;
  out += ",\"NodeNames\":";
  out += names;
  out += ",\"FailedNodes\":";
  failed(out);
  out += ",\"FailedAndUnresolvableNodes\":";
  out += never;
  out += ",\"Error\":";
  json::appendString(out, error);
  out += '}';
  return out;
}

std::string filterResult(std::string_view nodes, std::string_view names, std::string_view error) {
  return filterResult(
      nodes, names, 4, [](std::string& out) { out += "null"; }, error);
}

std::string allNames(const FilterArgs& args) {
  std::string out = "[";
  for (const NodeArg& node : args.nodes) {
    out += out.size() > 1 ? ",\"" : "\"";
    out += node.name;
    out += '"';
  }
  return out + "]";
}

std::string list(std::string_view items) {
  return fmt::format("{{\"metadata\":{{}},\"items\":[{}]}}", items);
}

}  // namespace

std::string filterError(std::string_view error) { return filterResult("null", "null", error); }

std::string untouchedReply(const FilterArgs& args, std::string body) {
  const std::string names = args.by_name ? allNames(args) : "null";
  if (!args.with_objects) { return filterResult("null", names, ""); }
  constexpr std::string_view kBefore = R"({"Nodes":)";
  const std::string after = filterResult("", names, "").substr(kBefore.size());
  const auto begin = static_cast<std::size_t>(args.nodes_object.data() - body.data());
  GS_CHECK(begin >= kBefore.size(), "Nodes begin at byte {}", begin);  // its key stands there
  body.resize(begin + args.nodes_object.size());
  body.append(after);
  body.replace(begin - kBefore.size(), kBefore.size(), kBefore);
  body.erase(0, begin - kBefore.size());
  return body;
}

namespace {

/// {"node":"why not", ...} of those that may fit later, or of those that never will.
std::string refusedNodes(const FilterArgs& args, const sched::Offers& offers, bool never) {
  std::vector<std::string> texts;
  for (const auto& rejection : offers.rejections) {
    texts.push_back(reason(rejection.text, args.nodes.size()));
  }
  std::string out = "{";
  for (std::size_t i = 0; i < args.nodes.size(); ++i) {
    const auto* rejection = offers.rejectionOf(i);
    if (rejection == nullptr || rejection->never != never) { continue; }
    out += fmt::format("{}\"{}\":{}", out.size() > 1 ? "," : "", args.nodes[i].name, texts[offers.of[i]]);
  }
  return out + "}";
}

std::string offersReply(const FilterArgs& args, const sched::Offers& offers) {
  std::string nodes;
  std::string names;
  for (std::size_t i = 0; i < args.nodes.size(); ++i) {
    if (offers.rejectionOf(i) != nullptr) { continue; }
    if (!names.empty()) {
      names += ',';
      nodes += ',';
    }
    names += fmt::format("\"{}\"", args.nodes[i].name);
    nodes += args.nodes[i].object;
  }
  const std::string for_now = refusedNodes(args, offers, false);
  const std::string never = refusedNodes(args, offers, true);
  const auto failed = [&](std::string& out) { out += for_now; };
  if (args.by_name) { return filterResult("null", "[" + names + "]", for_now.size(), failed, "", never); }
  return filterResult(args.with_objects ? list(nodes) : "null", "null", for_now.size(), failed, "", never);
}

}  // namespace

std::string scoresReply(const FilterArgs& args, const std::vector<int>& scores) {
  if (args.nodes.empty()) { return "null"; }
  std::string out = "[";
  for (std::size_t i = 0; i < args.nodes.size(); ++i) {
    out += fmt::format("{}{{\"Host\":\"{}\",\"Score\":{}}}", i > 0 ? "," : "", args.nodes[i].name, scores[i]);
  }
  return out + "]";
}

std::string filterReply(const FilterArgs& args, const Candidates& c, const Answer& a, std::string_view uid) {
  if (a.kind == Kind::Failed) { return filterError(a.text); }
  if (a.kind == Kind::Offered) { return offersReply(args, a.offers); }
  const auto failed = [&](std::string& out) { FailedNodes{args, c, a, uid}.appendTo(out); };
  std::size_t size = 2;
  for (const NodeArg& n : args.nodes) { size += n.name.size() + kUsualReason; }
  std::string_view node;
  std::string name;
  if (a.kind == Kind::Chosen) {
    node = args.nodes[a.chosen].object;
    name = fmt::format("\"{}\"", args.nodes[a.chosen].name);
  }
  // In both: kube-scheduler preempts nobody for it then, and who reads the first only finds it too.
  std::string never = "null";
  if (a.never) {
    never.clear();
    failed(never);
  }
  if (args.by_name) { return filterResult("null", "[" + name + "]", size, failed, "", never); }
  return filterResult(args.with_objects ? list(node) : "null", "null", size, failed, "", never);
}

std::string prioritiesReply(const FilterArgs& args, const Candidates& c, const Answer& ranked) {
  if (args.nodes.empty()) { return "null"; }
  std::string out = "[";
  for (std::size_t i = 0; i < args.nodes.size(); ++i) {
    const sched::NodeStanding* standing = standingAt(ranked, c, i);
    const bool has_gpu = standing != nullptr && standing->devices > 0;
    out += fmt::format("{}{{\"Host\":\"{}\",\"Score\":{}}}", i > 0 ? "," : "", args.nodes[i].name,
                       has_gpu ? 0 : 1);
  }
  return out + "]";
}

namespace {

void appendVictims(std::string& out, const Victims& uids) {
  for (std::size_t k = 0; k < uids.size(); ++k) {
    out += k > 0 ? ",{\"UID\":" : "{\"UID\":";
    json::appendString(out, uids[k].text);
    out += '}';
  }
}

/// As they stand in the body.
void appendGiven(std::string& out, const std::vector<std::string_view>& uids) {
  for (std::size_t k = 0; k < uids.size(); ++k) {
    out += fmt::format("{}{{\"UID\":\"{}\"}}", k > 0 ? "," : "", uids[k]);
  }
}

}  // namespace

/// How many budgets the others would violate nobody tells us: the number stays as it was given.
std::string preemptReply(const PreemptArgs& args, const Answer& a) {
  std::string out = "{\"NodeNameToMetaVictims\":{";
  for (std::size_t k = 0; k < a.kept.size(); ++k) {
    const VictimsArg& given = args.victims[a.kept[k]];
    out += k > 0 ? "," : "";
    json::appendString(out, given.node);
    out += ":{\"Pods\":[";
    if (k < a.victims.size() && !a.victims[k].empty()) {
      appendVictims(out, a.victims[k]);
    } else {
      appendGiven(out, given.uids);
    }
    out += fmt::format("],\"NumPDBViolations\":{}}}", given.pdb_violations);
  }
  return out + "}}";
}

std::string bindReply(std::string_view error) { return fmt::format("{{\"Error\":{}}}", quoted(error)); }

std::string errorMessageReply(std::string_view error) {
  return fmt::format("{{\"errorMessage\":{}}}", quoted(error));
}

std::string predicateReply(Dialect dialect, const std::optional<Misfit>& misfit) {
  const std::string text = quoted(misfit ? misfit->text : "");
  const int code = misfit ? static_cast<int>(misfit->code) : 0;
  switch (dialect) {
    case Dialect::V1_6: return fmt::format("{{\"errorMessage\":{}}}", text);
    case Dialect::V1_8:
      return fmt::format("{{\"status\":[{{\"Code\":{},\"Reason\":{}}}]}}", code,
                         misfit ? text : "\"success\"");
    case Dialect::V1_10: return fmt::format("{{\"status\":{},\"code\":{}}}", text, code);
    case Dialect::Superset: break;
  }
  if (!misfit) { return "{}"; }
  return fmt::format("{{\"errorMessage\":{0},\"status\":[{{\"Code\":{1},\"Reason\":{0}}}]}}", text, code);
}

std::string nodeScoreReply(const TaskArgs& args, const Candidates& c, const Answer& ranked, bool wants_gpu) {
  std::string out = "{\"nodeScore\":{";
  for (std::size_t i = 0; i < args.nodes.size(); ++i) {
    const sched::NodeStanding* standing = standingAt(ranked, c, i);
    const std::int64_t milli = standing == nullptr ? 0 : standing->devices * sched::kWholeMilli;
    const std::int64_t used = milli == 0 ? 0 : 100 * (milli - standing->free_milli) / milli;
    const std::int64_t score = wants_gpu ? used : milli == 0 ? 100 : 0;
    out += fmt::format("{}\"{}\":{}", i > 0 ? "," : "", args.nodes[i].name, score);
  }
  return out + "},\"errorMessage\":\"\"}";
}

}  // namespace gs::extender
