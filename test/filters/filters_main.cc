// filters draw [OPTION...]               drawn cases of pods and clusters, a line of JSON each
// filters answer                         for each such line of stdin what our filters say of it
// filters answer FILE...                 the same of one case as YAML, as compare prints it
// filters outcomes                       for each line {"question", "ours", "theirs"}, a case and what came
//                                        of its pod with real schedulers, the line {"difference"}
// filters compare TO FROM [OPTION...]    asks the oracle too, by these two named pipes (compare-filters)
// Options: --cases N, --seed S, --fields LIST, --newest, --all, --show N, --json FILE (the figures of
// tools/bench); of draw --together: every case is about all of the fields.
// Exit status 1: they differ; 2: it could not be tried.
#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/ascii.h"
#include "test/filters/answer.h"
#include "test/filters/compare.h"
#include "test/filters/draw_case.h"
#include "test/filters/outcomes.h"
#include "test/filters/plan.h"
#include "yaml/yaml.h"

namespace gs::filters {
namespace {

using Arguments = std::vector<std::string>;

int complain(const std::string& what) {
  fmt::print(stderr, "filters: {}\n", what);
  return 2;
}

int draw(const Plan& plan) {
  for (std::uint64_t n = 0; n < plan.cases; ++n) {
    std::puts(json::print(drawCase(plan.seed, n, plan.fields, plan.release, plan.together)).c_str());
  }
  return 0;
}

int say(const json::Value& question) {
  std::puts(json::print(asJson(ourAnswer(question))).c_str());
  return 0;
}

template <class Say>
int answerLines(const Say& say_it) {
  for (std::string line; std::getline(std::cin, line);) {
    const auto question = json::parse(line);
    if (!question) { return complain("a line is no case: " + question.error().message); }
    say_it(*question);
    std::fflush(stdout);  // whoever waits for an answer before it asks again gets it
  }
  return 0;
}

void sayDifference(const json::Value& asked) {
  const std::string difference = differenceOfOutcomes(ourAnswer(asked["question"]), outcomeOf(asked["ours"]),
                                                      outcomeOf(asked["theirs"]));
  std::puts(json::print(json::Object{{"difference", difference}}).c_str());
}

/// "Node" -> "nodes", "StorageClass" -> "storageclasses".
std::string pluralOf(std::string_view kind) {
  const std::string out = inLowerCase(kind);
  if (out.ends_with("y")) { return out.substr(0, out.size() - 1) + "ies"; }
  return out + (out.ends_with("s") ? "es" : "s");
}

int answerFiles(const Arguments& files) {
  json::Value question;
  for (const std::string& file : files) {
    std::stringstream text;
    text << std::ifstream{file}.rdbuf();
    const auto documents = yaml::toJson(text.str());
    if (!documents) { return complain(file + ": " + documents.error().message); }
    for (const std::string& document : *documents) {
      const auto object = json::parse(document);
      if (!object) { return complain(file + ": " + object.error().message); }
      const std::string plural = pluralOf((*object)["kind"].str());
      if (plural == "pods" && (*object)["spec"]["nodeName"].str().empty()) {
        question.set("pod", *object);
      } else if (!(*object)["kind"].str().empty()) {
        question.child(plural).array().push_back(*object);
      }
    }
  }
  return question["pod"].isObject() ? say(question) : complain("no pod without a node is in the files");
}

int compareAll(const std::string& to, const std::string& from, const Plan& plan) {
  std::signal(SIGPIPE, SIG_IGN);
  Oracle oracle{to, from};
  const auto agree = compare(plan, oracle);
  if (!agree) { return complain(agree.error().message); }
  return *agree ? 0 : 1;
}

int run(const Arguments& words) {
  const std::string command = words.empty() ? "" : words.front();
  if (command == "answer") {
    const Arguments files{words.begin() + 1, words.end()};
    return files.empty() ? answerLines(say) : answerFiles(files);
  }
  if (command == "outcomes") { return answerLines(sayDifference); }
  const std::size_t options = command == "compare" ? 3 : 1;
  if ((command != "draw" && command != "compare") || words.size() < options) {
    return complain("usage: filters draw|answer|outcomes|compare, see filters_main.cc");
  }
  const auto plan = planOf({words.begin() + static_cast<std::ptrdiff_t>(options), words.end()});
  if (!plan) { return complain(plan.error().message); }
  if (!plan->others.empty()) { return complain(plan->others.front() + " is no option"); }
  return command == "draw" ? draw(*plan) : compareAll(words[1], words[2], *plan);
}

}  // namespace
}  // namespace gs::filters

int main(int argc, char** argv) { return gs::filters::run({argv + 1, argv + argc}); }
