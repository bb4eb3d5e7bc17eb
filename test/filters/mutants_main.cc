// filter-mutants TO FROM [OPTION...] [BUG...]: is each bug that is put into our filters on purpose
// (base/mutant.h) found by drawn cases? Prints after how many, and what was seen there. The oracle is asked
// by these two named pipes (compare-filters --mutants). A bug is found where our filters with it differ from
// kube-scheduler's, and without it do not.
// Options: --cases N, --seed S, --fields LIST, --newest.
// Exit status 1: one is not found, or they differ without any; 2: it could not be tried.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/mutant.h"
#include "test/filters/answer.h"
#include "test/filters/draw_case.h"
#include "test/filters/oracle.h"
#include "test/filters/plan.h"

namespace gs::filters {
namespace {

using mutant::Bug;

std::optional<Bug> planted;
std::set<Bug> met;  // by the code that was asked

struct Mutant {
  const char* name;
  Bug bug;
  std::optional<Release> only{};  // API servers of the other release do not serve the field, or read it
};

constexpr std::array kMutants{
    Mutant{"NotInNeedsLabel", Bug::NotInNeedsLabel},
    Mutant{"AddressesApart", Bug::AddressesApart},
    Mutant{"EmptyKeyIsAKey", Bug::EmptyKeyIsAKey},
    Mutant{"ForgetsResidents", Bug::ForgetsResidents},
    Mutant{"EmptyIsNoSelector", Bug::EmptyIsNoSelector},
    Mutant{"NoFirstOfGroup", Bug::NoFirstOfGroup},
    Mutant{"ForgetsLabelKeys", Bug::ForgetsLabelKeys, Release::Oldest},
    Mutant{"IgnoresMinDomains", Bug::IgnoresMinDomains},
    Mutant{"HonorsTaintsUnasked", Bug::HonorsTaintsUnasked},
    Mutant{"SidecarsComeFirst", Bug::SidecarsComeFirst},
    Mutant{"IgnoresPodLevel", Bug::IgnoresPodLevel, Release::Newest},
    Mutant{"SharesOncePod", Bug::SharesOncePod},
    Mutant{"IgnoresRoom", Bug::IgnoresRoom},
    Mutant{"IgnoresReach", Bug::IgnoresReach},
    Mutant{"OneVolumeMore", Bug::OneVolumeMore},
};

Answer answerWith(std::optional<Bug> bug, const json::Value& question) {
  planted = bug;
  Answer out = ourAnswer(question);
  planted.reset();
  return out;
}

class Hunt {
 public:
  Hunt(const Plan& plan, std::vector<const Mutant*> mutants, Oracle& oracle)
      : plan_{plan}, hidden_{std::move(mutants)}, oracle_{oracle} {}

  /// True: each was found.
  Result<bool> run() {
    for (std::uint64_t next = 0; next < plan_.cases && !hidden_.empty(); next += Oracle::kMostAtOnce) {
      std::vector<json::Value> questions;
      for (std::uint64_t n = next; n < std::min<std::uint64_t>(plan_.cases, next + Oracle::kMostAtOnce);
           ++n) {
        questions.push_back(drawCase(plan_.seed, n, plan_.fields, plan_.release));
      }
      oracle_.send(questions);
      const auto theirs = oracle_.receive();
      if (!theirs) { return tl::unexpected(theirs.error()); }
      for (std::size_t n = 0; n < questions.size(); ++n) {
        if (!look(questions[n], (*theirs)[n])) { return false; }
      }
    }
    for (const Mutant* one : hidden_) {
      fmt::print("{:20} NOT FOUND in {} cases{}\n", one->name, looks_,
                 met.contains(one->bug) ? "" : ": it is not in the code that is asked");
    }
    return hidden_.empty();
  }

 private:
  /// False: they differ without any.
  bool look(const json::Value& question, const Answer& theirs) {
    ++looks_;
    const Answer sound = answerWith(std::nullopt, question);
    if (!sound.unserved.empty()) { return true; }
    if (const Difference trouble = differenceOf(sound, theirs); !trouble.text.empty()) {
      fmt::print("seed {} case {} differs without any bug: {}\n", plan_.seed, looks_ - 1, trouble.text);
      return false;
    }
    std::erase_if(hidden_, [&](const Mutant* one) {
      const Difference found = differenceOf(answerWith(one->bug, question), theirs);
      if (found.text.empty()) { return false; }
      fmt::print("{:20} found after {:5} cases: {}\n", one->name, looks_, found.text);
      std::fflush(stdout);
      return true;
    });
    return true;
  }

  const Plan& plan_;
  std::vector<const Mutant*> hidden_;
  Oracle& oracle_;
  std::uint64_t looks_ = 0;
};

/// Without names: all that such a release can show. Error: a name that is none of these.
Result<std::vector<const Mutant*>> chosen(const Plan& plan) {
  std::vector<const Mutant*> all;
  for (const Mutant& one : kMutants) {
    if (!one.only || *one.only == plan.release) { all.push_back(&one); }
  }
  if (plan.others.empty()) { return all; }
  std::vector<const Mutant*> out;
  for (const std::string& name : plan.others) {
    const auto it =
        std::find_if(all.begin(), all.end(), [&](const Mutant* one) { return one->name == name; });
    if (it == all.end()) {
      return fail(Code::Invalid,
                  fmt::format("no bug is called {} that {} shows: look at kMutants in "
                              "test/filters/mutants_main.cc",
                              name, plan.release == Release::Newest ? "--newest" : "the oldest release"));
    }
    out.push_back(*it);
  }
  return out;
}

int complain(const std::string& what) {
  fmt::print(stderr, "filter-mutants: {}\n", what);
  return 2;
}

int run(const std::vector<std::string>& words) {
  constexpr std::ptrdiff_t kPipes = 2;
  if (words.size() < kPipes) {
    return complain("usage: filter-mutants TO FROM [OPTION...] [BUG...], see mutants_main.cc");
  }
  std::signal(SIGPIPE, SIG_IGN);
  Oracle oracle{words[0], words[1]};
  const auto plan = planOf({words.begin() + kPipes, words.end()});
  if (!plan) { return complain(plan.error().message); }
  const auto mutants = chosen(*plan);
  if (!mutants) { return complain(mutants.error().message); }
  fmt::print("seed {}, fields {}: {} bugs\n", plan->seed, namesOf(plan->fields), mutants->size());
  const auto found = Hunt{*plan, *mutants, oracle}.run();
  if (!found) { return complain(found.error().message); }
  return *found ? 0 : 1;
}

}  // namespace
}  // namespace gs::filters

bool gs::mutant::isIn(Bug bug) {
  const bool is_in = filters::planted == bug;
  if (is_in) { filters::met.insert(bug); }
  return is_in;
}

int main(int argc, char** argv) { return gs::filters::run({argv + 1, argv + argc}); }
