#include "sandbox/node/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "sandbox/node/pod_env.h"

namespace gs::sandbox {
namespace {

using json::Value;
using Words = std::vector<std::string>;

/// What a command does; nullopt: nobody knows.
struct Effect {
  Duration takes{};
  int exit_code = 0;
  bool ends = false;  // the script that it stands in
};
using Known = std::optional<Effect>;

std::optional<int> exitCode(std::string_view text) {
  int code = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), code);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole && code >= 0 && code <= 255 ? std::optional{code} : std::nullopt;
}

/// "5", "0.5" or "2m"
std::optional<Duration> sleepTime(const std::string& text) {
  const bool bare = !text.empty() && text.find_first_not_of("0123456789.") == std::string::npos;
  return parseDuration(bare ? text + "s" : text);
}

Known sleeps(const Words& words) {
  Effect out;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto time = sleepTime(words[i]);
    if (!time) { return std::nullopt; }
    out.takes += *time;
  }
  return out;
}

std::string_view baseName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

Known simpleCommand(const Words& words) {
  const auto name = baseName(words.front());
  if (name == "sleep") { return sleeps(words); }
  if (name == "true" || name == "echo" || name == "nvidia-smi" || name == ":") { return Effect{}; }
  if (name == "false") { return Effect{{}, 1, false}; }
  if (name != "exit") { return std::nullopt; }
  const auto code = words.size() < 2 ? std::optional{0} : exitCode(words[1]);
  return code ? Known{Effect{{}, *code, true}} : std::nullopt;
}

/// One command of a script, up to `;`, `&&` or the end of its line.
struct Step {
  Words words;
  bool if_well = false;  // it came after &&
};

/// nullopt: more of a shell than this knows.
class Script {
 public:
  static std::optional<std::vector<Step>> read(std::string_view text) {
    Script script;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      const bool both = c == '&' && i + 1 < text.size() && text[i + 1] == '&';
      if (script.quote_ != '\0') {
        script.quoted(c);
      } else if (both || c == ';' || c == '\n') {
        script.endStep(both);
        i += both ? 1 : 0;
      } else if (std::string_view{"&|<>()`$\\{}#"}.find(c) != std::string_view::npos) {
        return std::nullopt;
      } else {
        script.plain(c);
      }
    }
    if (script.quote_ != '\0') { return std::nullopt; }
    script.endStep(false);
    return std::move(script.steps_);
  }

 private:
  void quoted(char c) {
    if (c == quote_) {
      quote_ = '\0';
    } else {
      word_ += c;
    }
  }
  void plain(char c) {
    if (c == '\'' || c == '"') {
      quote_ = c;
      in_word_ = true;
    } else if (c == ' ' || c == '\t') {
      endWord();
    } else {
      word_ += c;
      in_word_ = true;
    }
  }
  void endWord() {
    if (in_word_) { step_.words.push_back(std::move(word_)); }
    word_.clear();
    in_word_ = false;
  }
  void endStep(bool next_if_well) {
    endWord();
    if (!step_.words.empty()) { steps_.push_back(std::move(step_)); }
    step_ = {};
    step_.if_well = next_if_well;
  }

  std::vector<Step> steps_;
  Step step_;
  std::string word_;
  bool in_word_ = false;
  char quote_ = '\0';
};

Known scriptEffect(std::string_view text) {
  const auto steps = Script::read(text);
  if (!steps) { return std::nullopt; }
  Effect out;
  for (const Step& step : *steps) {
    if (step.if_well && out.exit_code != 0) { continue; }
    const Known one = simpleCommand(step.words);
    if (!one) { return std::nullopt; }
    out.takes += one->takes;
    out.exit_code = one->exit_code;
    if (one->ends) { break; }
  }
  return out;
}

Known commandEffect(const Value& container) {
  Words words;
  for (const char* part : {"command", "args"}) {
    for (const Value& word : container[part].items()) { words.emplace_back(word.str()); }
  }
  if (container["command"].items().empty()) { return std::nullopt; }  // what the image does
  const auto name = baseName(words.front());
  const bool shell = name == "sh" || name == "bash";
  if (shell && words.size() == 3 && words[1].starts_with('-') && words[1].ends_with('c')) {
    return scriptEffect(words[2]);
  }
  return simpleCommand(words);
}

bool isOfJob(const Value& pod) {
  const auto& owners = pod["metadata"]["ownerReferences"].items();
  return std::any_of(owners.begin(), owners.end(), [](const Value& owner) {
    return owner["kind"].str() == "Job" && owner["controller"].boolOr(false);
  });
}

void readCommands(const Value& pod, Program& out) {
  out.runs = Duration{};
  for (const Value& container : pod["spec"]["containers"].items()) {
    const Effect effect = commandEffect(container).value_or(Effect{kJobRuns, 0, false});
    out.runs = std::max(*out.runs, effect.takes);
    if (out.exit_code == 0) { out.exit_code = effect.exit_code; }
  }
}

}  // namespace

Program programOf(const json::Value& pod) {
  Program out;
  const Value& notes = pod["metadata"]["annotations"];
  if (isOfJob(pod)) { readCommands(pod, out); }
  if (const Value* wanted = notes.find(kRunForKey)) {
    out.runs = parseDuration(wanted->str());
    if (!out.runs) {
      out.complaints.emplace_back(
          "BadRunFor",
          fmt::format("annotation {}: \"{}\" is no duration; write one such as 30s, 5m or 1h30m (at "
                      "most 270000h); the pod runs until it is deleted",
                      kRunForKey, wanted->str()));
    }
  }
  if (const Value* wanted = notes.find(kExitCodeKey)) {
    const auto code = exitCode(wanted->str());
    out.exit_code = code.value_or(0);
    if (!code) {
      out.complaints.emplace_back(
          "BadExitCode",
          fmt::format("annotation {}: \"{}\" is no exit code; write a number from 0 to 255; the "
                      "containers end with 0",
                      kExitCodeKey, wanted->str()));
    }
  }
  return out;
}

}  // namespace gs::sandbox
