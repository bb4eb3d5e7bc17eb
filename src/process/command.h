// A command of a program, described flag by flag. One description serves all: parsing, --help, completion by
// a shell, and the answer to a wrong value. CLI11 parses, behind this header.
//
// A handle: cheap to copy. The Program that it is of, and whatever is read into, must outlive the parsing.
// The value that `into` has when the flag is described is the default. --help names it,
// unless it is "" or false.
// Names are as CLI11 takes them: "--name", "-v,--v", "--elect,!--no-elect" for a flag that the second one
// turns off. Of a flag that is given twice the last counts.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"

namespace CLI {
class App;
}

namespace gs::process {

/// Carries a command out; returns the exit status.
using Action = std::function<int()>;

class Command {
 public:
  /// Made by a Program only.
  struct Chosen;
  Command(CLI::App& app, Chosen& chosen) : app_{&app}, chosen_{&chosen} {}

  /// Flags that follow stand under this title in --help.
  Command& topic(std::string title);

  /// `value` is what stands for one in --help: "FILE" (which shells complete), "HOST:PORT", "NAME".
  Command& text(const std::string& names, const std::string& value, std::string& into,
                const std::string& help);
  /// A text that may not be empty.
  Command& name(const std::string& names, std::string& into, const std::string& help);
  /// `alone`: what it means without a value, which then stands behind a `=` only; "": it needs one.
  Command& choice(const std::string& names, const std::vector<std::string>& among, std::string& into,
                  const std::string& help, const std::string& alone = "");
  Command& duration(const std::string& names, Duration& into, const std::string& help);
  Command& flag(const std::string& names, bool& into, const std::string& help);
  /// From `least` to `most`. `value` names the unit: "SECONDS"; "N" is a plain number.
  template <std::integral Number>
  Command& number(const std::string& names, const std::string& value, Number least, Number most, Number& into,
                  const std::string& help) {
    const Range range{static_cast<std::int64_t>(least), static_cast<std::int64_t>(most)};
    return number({names, value, ranged(help, range)}, range, static_cast<std::int64_t>(into),
                  [&into](std::int64_t n) { into = static_cast<Number>(n); });
  }
  /// Any number; nullopt where the flag was not given.
  Command& number(const std::string& names, const std::string& value, std::optional<int>& into,
                  const std::string& help);
  /// A flag without meaning: taken, with a value or without, and `told` is called.
  Command& ignored(const std::string& name, std::function<void()> told, const std::string& help);

  /// An argument that is known by its place. One that is needed may not be empty.
  Command& word(const std::string& name, std::string& into, const std::string& help, bool is_needed = true);
  Command& wordAmong(const std::string& name, const std::vector<std::string>& among, std::string& into,
                     const std::string& help);
  Command& words(const std::string& name, std::vector<std::string>& into, const std::string& help);

  /// A command below this one. Below a command that is not the program it takes that command's flags too,
  /// before or behind its own.
  Command command(const std::string& name, const std::string& summary);
  /// A command that every program has: --help lists it last.
  Command general(const std::string& name, const std::string& summary);
  void does(Action action);

 private:
  struct Texts {
    std::string names;
    std::string value;
    std::string help;
  };
  struct Range {
    std::int64_t least;
    std::int64_t most;
  };
  static std::string ranged(const std::string& help, Range range);  // it says from where to where
  Command& number(const Texts& texts, Range range, std::optional<std::int64_t> preset,
                  std::function<void(std::int64_t)> set);

  CLI::App* app_;
  Chosen* chosen_;
  std::string topic_ = "Flags";
};

}  // namespace gs::process
