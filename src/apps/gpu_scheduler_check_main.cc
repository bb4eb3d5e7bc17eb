// gpu-scheduler-check: writes, every LOG_INTERVAL seconds, the node that it is on and the GPUs that its
// container was told, until SIGTERM or SIGINT. What it writes: check/report.h.
#include <signal.h>

#include <cstdio>
#include <cstdlib>

#include "base/system_clock.h"
#include "check/report.h"
#include "process/process.h"
#include "process/program.h"

namespace gs {
namespace {

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>{value};
}

void write(const check::Line& line) {
  const std::string text = check::print(line, SystemClock{}.now().wall);
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}
void write(const std::vector<check::Line>& lines) {
  for (const check::Line& line : lines) { write(line); }
}

int run() {
  sigset_t ends;
  ::sigemptyset(&ends);
  ::sigaddset(&ends, SIGTERM);
  ::sigaddset(&ends, SIGINT);
  ::sigprocmask(SIG_BLOCK, &ends, nullptr);
  const auto every = check::interval(variable);
  if (!every) {
    std::fprintf(stderr, "%s\n", every.error().message.c_str());
    return 1;
  }
  write(check::beginning(variable, *every));
  const timespec wait{.tv_sec = every->count(), .tv_nsec = 0};
  while (true) {
    write(check::state(variable, process::hostName()));
    const int signal = ::sigtimedwait(&ends, nullptr, &wait);
    if (signal > 0) {
      write(check::ending(signal));
      return 0;
    }
  }
}

int expect(const std::string& ids) {
  write(check::state(variable, process::hostName()));
  const auto met = check::expectation(variable, ids);
  if (met) { return 0; }
  std::fprintf(stderr, "%s\n", met.error().message.c_str());
  return 1;
}

}  // namespace
}  // namespace gs

int main(int argc, char** argv) {
  gs::process::Program program{"gpu-scheduler-check",
                               "Writes the node that it is on and the GPUs that its container was told "
                               "(CUDA_VISIBLE_DEVICES), every LOG_INTERVAL seconds."};
  program.root().does([] { return gs::run(); });
  std::string ids;
  program.root()
      .command("expect",
               "Ends at once: with 0 if the container was told these GPUs and no others, else with 1")
      .word("ids", ids, "As CUDA_VISIBLE_DEVICES is to be: 0,1; without: empty", false)
      .does([&ids] { return gs::expect(ids); });
  return program.run(argc, argv);
}
