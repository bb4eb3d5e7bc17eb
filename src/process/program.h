// A program's command line: what it is called, its commands and their flags, and what is done by each. With
// it comes what every program of ours has: --help and `help COMMAND`, --version, `completion bash|zsh|fish`,
// `man`, which prints the manual page for whoever packages the program, and an answer to slips of the pen.
//
// Arguments are taken as Go's pflag takes them. `--flag=`, as templates write it, is an empty text; for a
// number, or for one that is true or false, it is no value, and so an error. `--` stands before a word
// that begins with a hyphen.
// Made and run by main(), on its thread. What was described into must outlive run().
#pragma once

#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "process/command.h"
#include "process/outline.h"

namespace gs::process {

class Program {
 public:
  /// `summary`: what it does, in a sentence or two.
  Program(std::string name, const std::string& summary);
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program();

  [[nodiscard]] const std::string& name() const { return name_; }
  /// The program as a command. Without an action of its own (does()) one of those below it has to be named.
  [[nodiscard]] Command root();
  /// As klog's users write them: `_` for `-` in names, and `-v=4`.
  void takesUnderscores() { takes_underscores_ = true; }

  /// The exit status for arguments that are wrong, in place of 2: for who takes the place of another program.
  void refusesWith(int status) { wrong_ = status; }

  /// Does what the arguments say. 0 too when they ask for help; 2 when they are wrong, which is said.
  int run(int argc, char** argv);
  int run(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err);

  /// Flags that were given and change something, by their name, for the log. A password in a URL is left out.
  [[nodiscard]] std::vector<log::Field> settings() const;
  [[nodiscard]] CommandOutline outline() const;

 private:
  struct Core;
  void describeVersion();
  void describeOwn();
  int printHelp();

  const std::string name_;
  bool takes_underscores_ = false;
  int wrong_ = 2;
  std::unique_ptr<Core> core_;
};

/// Says what is wrong, as a line of the log; the exit status for that.
[[nodiscard]] int refuse(const Error& error);
/// Of what somebody typed: the exit status, and what is wrong, on stderr.
[[nodiscard]] int ended(const Status& done);

}  // namespace gs::process
