#include "process/program.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
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
constexpr int kWrong = 2;  // the exit status for arguments that are

/// In the order in which CLI11 takes a vector: the last one first.
/// It would take the next argument for an empty value.
std::vector<std::string> forCli11(const std::vector<std::string>& arguments) {
  std::vector<std::string> out;
  bool flags = true;  // none after "--"
  for (const auto& arg : arguments) {
    flags = flags && arg != "--";
    const bool is_empty = flags && arg.starts_with("--") && arg.find('=') == arg.size() - 1;
    out.push_back(is_empty ? arg.substr(0, arg.size() - 1) : arg);
    if (is_empty) { out.emplace_back(); }
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

/// An argument that the command in which it stands does not take.
struct Leftover {
  std::string text;
  const CLI::App* in = nullptr;
};

std::optional<Leftover> leftIn(const CLI::App& app) {
  if (const auto left = app.remaining(false); !left.empty()) { return Leftover{left.front(), &app}; }
  const auto below = app.get_subcommands();
  return below.empty() ? std::nullopt : leftIn(*below.front());
}

std::string unknown(const Leftover& left, const CLI::App& app) {
  const CommandOutline named = outlineOf(namedIn(app));
  if (left.text.starts_with('-')) {
    return unknownFlag(left.text.substr(0, left.text.find('=')), outlineOf(*left.in), named);
  }
  // A command's command leaves its words to the one above it.
  return unknownWord(left.text, left.in == &app ? outlineOf(app) : named);
}

std::string missingIn(const CLI::RequiredError& error, const CommandOutline& command) {
  const std::string what = error.what();
  if (command.needs_command) {
    return fmt::format("'{}' needs a command: {}", command.path, fmt::join(namesOfCommands(command), ", "));
  }
  return fmt::format("'{}': {}", command.path, what);  // "node is required"
}

/// What CLI11 says of a flag's values: "--name: 1 required FILE missing", "--name:
/// At Most 1 required but received 2".
std::string mismatch(const std::string& said) {
  const std::string name = said.substr(0, said.find(':'));
  return said.find("missing") != std::string::npos ? fmt::format("{} needs a value", name)
                                                   : fmt::format("{} is given more than once", name);
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

std::string valueGiven(const CLI::Option& option) {
  if (option.results().empty()) { return ""; }
  return withoutPasswords(fmt::format("{}", fmt::join(option.results(), ",")));
}

}  // namespace

struct Program::Core {
  Core(const std::string& name, const std::string& summary) : app{summary, name} {}
  CLI::App app;
  Command::Chosen chosen;
  std::ostream* out = nullptr;  // while it runs
  std::vector<std::string> help_of;
  std::string shell;
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

/// As pflag takes it: `--version`, `--version=true` and `--version=raw` want it, `--version=false` does not.
void Program::describeVersion() {
  core_->app
      .add_option_function<std::string>(
          "--version",
          [this](const std::string& text) {
            static const std::set<std::string_view> kYes = {"", "raw", "1", "t", "T", "true", "TRUE", "True"};
            static const std::set<std::string_view> kNo = {"0", "f", "F", "false", "FALSE", "False"};
            if (kYes.contains(text)) { throw CLI::CallForVersion{versionOf(name_), 0}; }
            if (!kNo.contains(text)) {
              throw CLI::ValidationError{fmt::format("--version is '{}'; write true, raw or false", text)};
            }
          },
          "The version, and nothing else")
      ->type_name("")
      ->expected(0, 1);
}

void Program::describeOwn() {
  Core& core = *core_;
  Command help = root().general(kHelp, "What --help says of a command", false);
  help.words("command", core.help_of, "The command; none: the program");
  help.does([this] { return printHelp(); });
  Command completion =
      root().general("completion", "A shell's script that completes commands, flags and values", false);
  completion.wordAmong("shell", choicesOf(kShells), core.shell,
                       "Who reads it: source <(" + name_ + " completion bash)");
  completion.does([this] {
    *core_->out << completionScript(outline(), core_->shell);
    return 0;
  });
  root().general("man", "The manual page, for who packages it", true).does([this] {
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
    auto taken = forCli11(takes_underscores_ ? withHyphens(arguments) : arguments);
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
    err << fmt::format("{}\n'{} --help' says what there is.\n", whatIsWrong(app, error),
                       named.name == kHelp ? name_ : named.path);
    return kWrong;
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
