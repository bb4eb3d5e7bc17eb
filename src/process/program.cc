#include "process/program.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "process/chosen.h"
#include "process/completion.h"
#include "process/help.h"
#include "process/man.h"
#include "process/process.h"
#include "process/suggest.h"

namespace gs::process {
namespace {

constexpr const char* kHelp = "help";
constexpr int kWrong = 2;  // the exit status for what somebody asked

/// In the order in which CLI11 takes a vector: the last one first.
/// It would take the next argument for an empty value, and for that of a flag which stands alone.
std::vector<std::string> forCli11(const std::vector<std::string>& arguments,
                                  const std::map<std::string, std::string>& alone) {
  std::vector<std::string> out;
  bool flags = true;  // none after "--"
  for (const auto& arg : arguments) {
    flags = flags && arg != "--";
    const bool is_empty = flags && arg.starts_with("--") && arg.find('=') == arg.size() - 1;
    const auto meant = flags ? alone.find(arg) : alone.end();
    out.push_back(is_empty ? arg.substr(0, arg.size() - 1) : arg);
    if (is_empty) { out.emplace_back(); }
    if (meant != alone.end()) { out.push_back(meant->second); }
  }
  std::reverse(out.begin(), out.end());
  return out;
}

std::vector<std::string> withHyphens(std::vector<std::string> arguments) {
  bool flags = true;
  for (std::string& arg : arguments) {
    flags = flags && arg != "--";
    if (flags && arg.starts_with("-v=")) { arg.insert(0, "-"); }
    if (flags && arg.starts_with("--")) {
      const auto end = arg.begin() + static_cast<std::ptrdiff_t>(std::min(arg.find('='), arg.size()));
      std::replace(arg.begin(), end, '_', '-');
    }
  }
  return arguments;
}

/// The command that was named, as far as it was understood.
const CLI::App& namedIn(const CLI::App& app) {
  const auto below = app.get_subcommands();
  return below.empty() ? app : namedIn(*below.front());
}

std::string didYouMean(std::string_view word, const std::vector<std::string>& names) {
  const auto near = nearest(word, names);
  return near ? fmt::format("; did you mean {}?", *near) : "";
}

std::vector<std::string> namesOfFlags(const CommandOutline& command) {
  std::vector<std::string> out;
  for (const TopicOutline& topic : command.topics) {
    for (const FlagOutline& flag : topic.flags) {
      out.insert(out.end(), flag.names.begin(), flag.names.end());
    }
  }
  return out;
}

std::vector<std::string> namesOfCommands(const CommandOutline& command) {
  std::vector<std::string> out;
  for (const CommandOutline& below : command.commands) { out.push_back(below.name); }
  return out;
}

/// The command at or below this one that has a flag of this name.
const CommandOutline* ownerOf(const std::string& flag, const CommandOutline& command) {
  const auto names = namesOfFlags(command);
  if (std::find(names.begin(), names.end(), flag) != names.end()) { return &command; }
  for (const CommandOutline& below : command.commands) {
    if (const auto* owner = ownerOf(flag, below)) { return owner; }
  }
  return nullptr;
}

std::string unknownFlag(const std::string& name, const CommandOutline& where, const CommandOutline& named) {
  if (const CommandOutline* owner = ownerOf(name, where)) {
    return fmt::format("{} is a flag of '{}': write it behind that", name, owner->path);
  }
  auto names = namesOfFlags(named);
  const auto above = namesOfFlags(where);
  names.insert(names.end(), above.begin(), above.end());
  return fmt::format("'{}' has no flag {}{}", named.path, name, didYouMean(name, names));
}

std::string unknownWord(const std::string& word, const CommandOutline& command) {
  const auto names = namesOfCommands(command);
  if (names.empty()) { return fmt::format("'{}' is more than '{}' takes", word, command.path); }
  const std::string near = didYouMean(word, names);
  return fmt::format("'{}' has no command {}{}", command.path, word,
                     near.empty() ? fmt::format("; there are {}", fmt::join(names, ", ")) : near);
}

bool hasTruth(const CommandOutline& command, const std::string& name) {
  for (const TopicOutline& topic : command.topics) {
    for (const FlagOutline& flag : topic.flags) {
      if (std::find(flag.names.begin(), flag.names.end(), name) != flag.names.end()) {
        return flag.value.empty();
      }
    }
  }
  return false;
}

struct EmptyTruth {
  std::string flag;
  std::string path;  // of the command that has it
};

/// The first "--flag=" of a flag that is true or false, which CLI11 would take for "--flag".
std::optional<EmptyTruth> emptyTruthIn(const std::vector<std::string>& arguments,
                                       const CommandOutline& program) {
  for (const std::string& arg : arguments) {
    if (arg == "--") { break; }
    if (!arg.starts_with("--") || arg.find('=') != arg.size() - 1) { continue; }
    const std::string name = arg.substr(0, arg.size() - 1);
    const CommandOutline* owner = ownerOf(name, program);
    if (owner != nullptr && hasTruth(*owner, name)) { return EmptyTruth{name, owner->path}; }
  }
  return std::nullopt;
}

/// An argument that the command in which it stands does not take.
struct Leftover {
  std::string text;
  const CLI::App* in = nullptr;
  bool is_word = false;  // behind "--"
};

std::optional<Leftover> leftIn(const CLI::App& app) {
  bool is_word = false;
  for (const std::string& text : app.remaining(false)) {
    if (text != "--") { return Leftover{text, &app, is_word}; }
    is_word = true;
  }
  const auto below = app.get_subcommands();
  return below.empty() ? std::nullopt : leftIn(*below.front());
}

std::string unknown(const Leftover& left, const CLI::App& app) {
  const CommandOutline named = outlineOf(namedIn(app));
  if (left.is_word) { return unknownWord(left.text, named); }
  if (left.text.starts_with('-')) {
    return unknownFlag(left.text.substr(0, left.text.find('=')), outlineOf(*left.in), named);
  }
  // A command's command leaves its words to the one above it.
  return unknownWord(left.text, left.in == &app ? outlineOf(app) : named);
}

std::string missingIn(const CLI::RequiredError& error, const CommandOutline& command) {
  if (command.needs_command) {
    return fmt::format("'{}' needs a command: {}", command.path, fmt::join(namesOfCommands(command), ", "));
  }
  const std::string what = error.what();  // "node is required"
  const auto is_it = [&](const WordOutline& word) { return what.starts_with(word.name + " "); };
  const auto word = std::find_if(command.words.begin(), command.words.end(), is_it);
  const bool among = word != command.words.end() && !word->offered.empty();
  return fmt::format("'{}': {}{}", command.path, what, among ? "; write " + oneOf(word->offered) : "");
}

/// What CLI11 says of a flag's values: "--name: 1 required FILE missing".
std::string mismatch(const std::string& said) {
  return fmt::format("{} needs a value", said.substr(0, said.find(':')));
}

std::string whatIsWrong(const CLI::App& app, const CLI::ParseError& error) {
  const auto left = leftIn(app);
  const auto* required = dynamic_cast<const CLI::RequiredError*>(&error);
  const bool extras = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  if (left && (required != nullptr || extras)) { return unknown(*left, app); }
  if (required != nullptr) { return missingIn(*required, outlineOf(namedIn(app))); }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) { return mismatch(error.what()); }
  return error.what();
}

/// "https://user:word@host" without who and by what word.
std::string withoutPasswords(std::string text) {
  const auto scheme = text.find("://");
  if (scheme == std::string::npos) { return text; }
  const auto from = scheme + 3;
  const auto at = text.substr(0, text.find('/', from)).rfind('@');
  return at == std::string::npos || at < from ? text : text.erase(from, at + 1 - from);
}

void sayWrong(std::ostream& err, const std::string& what, const std::string& path) {
  err << fmt::format("{}\n'{} --help' says what there is.\n", what, path);
}

std::string valueGiven(const CLI::Option& option) {
  return option.results().empty() ? "" : withoutPasswords(option.results().back());
}

}  // namespace

struct Program::Core {
  Core(const std::string& name, const std::string& summary) : app{summary, name} {}
  CLI::App app;
  Command::Chosen chosen;
  std::ostream* out = nullptr;  // while it runs
  std::vector<std::string> help_of;
  std::string shell;
  std::string version;  // what was said of it
};

Program::Program(std::string name, const std::string& summary)
    : name_{std::move(name)}, core_{std::make_unique<Core>(name_, summary)} {
  CLI::App& app = core_->app;
  app.set_help_flag("-h,--help", "This text");
  app.require_subcommand(1);
  describeVersion();
  describeOwn();
}

Program::~Program() = default;

Command Program::root() { return {core_->app, core_->chosen}; }

/// As Kubernetes' programs take it: `--version`, `--version=true` and `--version=raw` want it,
/// `--version=false` does not.
void Program::describeVersion() {
  core_->app.add_flag("--version", core_->version, "The version, and nothing else")
      ->each([this](const std::string& text) {
        static const std::set<std::string_view> kYes = {"raw", "1", "t", "T", "true", "TRUE", "True"};
        static const std::set<std::string_view> kNo = {"0", "f", "F", "false", "FALSE", "False"};
        if (kYes.contains(text)) { throw CLI::CallForVersion{versionOf(name_), 0}; }
        if (!kNo.contains(text)) {
          throw CLI::ValidationError{fmt::format("'{}' is neither true nor false", text)};
        }
      });
}

void Program::describeOwn() {
  Core& core = *core_;
  Command help = root().general(kHelp, "What --help says of a command");
  help.words("command", core.help_of, "The command; none: the program");
  help.does([this] { return printHelp(); });
  Command completion =
      root().general("completion", "A shell's script that completes commands, flags and values");
  completion.wordAmong("shell", choicesOf(kShells), core.shell,
                       "Who reads it: source <(" + name_ + " completion bash)");
  completion.does([this] {
    *core_->out << completionScript(outline(), core_->shell);
    return 0;
  });
  root().general("man", "The manual page, for who packages it").does([this] {
    *core_->out << manPage(outline(), versionOf(name_));
    return 0;
  });
}

int Program::printHelp() {
  CommandOutline command = outline();
  for (const std::string& word : core_->help_of) {
    const auto is_it = [&](const CommandOutline& one) { return one.name == word; };
    const auto found = std::find_if(command.commands.begin(), command.commands.end(), is_it);
    if (found == command.commands.end()) { throw CLI::ValidationError{unknownWord(word, command)}; }
    command = CommandOutline{*found};
  }
  *core_->out << helpText(command);
  return 0;
}

int Program::run(int argc, char** argv) {
  const int status = run({argv + 1, argv + argc}, std::cout, std::cerr);
  std::cout.flush();
  return status;
}

int Program::run(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err) {
  CLI::App& app = core_->app;
  core_->out = &out;
  try {
    const auto given = takes_underscores_ ? withHyphens(arguments) : arguments;
    if (const auto empty = emptyTruthIn(given, outline())) {
      sayWrong(err, fmt::format("{}: '' is neither true nor false", empty->flag), empty->path);
      return wrong_;
    }
    auto taken = forCli11(given, core_->chosen.alone);
    app.parse(taken);
    return core_->chosen.actions.at(&namedIn(app))();
  } catch (const CLI::CallForVersion& version) {
    out << version.what() << '\n';
    return 0;
  } catch (const CLI::CallForHelp&) {
    out << helpText(outlineOf(namedIn(app)));
    return 0;
  } catch (const CLI::ParseError& error) {
    const CommandOutline named = outlineOf(namedIn(app));
    sayWrong(err, whatIsWrong(app, error), named.name == kHelp ? name_ : named.path);
    return wrong_;
  }
}

std::vector<log::Field> Program::settings() const {
  std::vector<log::Field> out;
  const CLI::App* app = &core_->app;
  for (;;) {
    for (const CLI::Option* option : app->get_options()) {
      if (option->count() == 0 || option->get_positional() || option->get_lnames().empty()) { continue; }
      std::string value = valueGiven(*option);
      if (value != option->get_default_str()) { out.emplace_back(option->get_lnames().front(), value); }
    }
    const auto below = app->get_subcommands();
    if (below.empty()) { return out; }
    app = below.front();
  }
}

/// The description, with what CLI11 does not know: the words of `help` are the names of commands, so
/// completion offers them.
CommandOutline Program::outline() const {
  CommandOutline out = outlineOf(core_->app);
  for (CommandOutline& command : out.commands) {
    if (command.name == kHelp) { command.words.at(0).offered = namesOfCommands(out); }
  }
  return out;
}

int refuse(const Error& error) {
  log::error(error.message);
  return kWrong;
}

int ended(const Status& done) {
  if (done) { return 0; }
  std::cerr << done.error().message << '\n';
  return kWrong;
}

}  // namespace gs::process
