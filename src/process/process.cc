#include "process/process.h"

#include <malloc.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <random>

#include "base/log.h"

namespace gs::process {
namespace {

constexpr unsigned kStopSeconds = 5;
constexpr std::size_t kFewDescriptors = 1024;  // what every system gives

constexpr const char* kVersion = "0.1";

}  // namespace

std::string versionOf(const std::string& program) { return program + "-" + kVersion; }
std::string userAgentOf(const std::string& program) { return program + "/" + kVersion; }

std::string hostName() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 && name[0] != '\0' ? name : "unknown";
}

Rng randomSeed() {
  std::random_device device;
  return Rng{(std::uint64_t{device()} << 32U) ^ device()};
}

void keepMemorySmall() {
  mallopt(M_ARENA_MAX, 2);
  mallopt(M_TRIM_THRESHOLD, 1 << 20);
}

void keepMemoryOfRequests(int bytes) {
  mallopt(M_ARENA_MAX, 2);
  mallopt(M_TRIM_THRESHOLD, bytes);
  mallopt(M_MMAP_THRESHOLD, bytes);
}

std::size_t openAllDescriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) { return kFewDescriptors; }
  const rlimit all{limit.rlim_max, limit.rlim_max};
  return static_cast<std::size_t>(setrlimit(RLIMIT_NOFILE, &all) == 0 ? all.rlim_cur : limit.rlim_cur);
}

StopSignals::StopSignals() {
  sigemptyset(&set_);
  sigaddset(&set_, SIGTERM);
  sigaddset(&set_, SIGINT);
  pthread_sigmask(SIG_BLOCK, &set_, nullptr);
}

void StopSignals::wait() const {
  int signal = 0;
  sigwait(&set_, &signal);
  log::info("stopping", {{"signal", signal}});
}

bool StopSignals::again() const {
  constexpr timespec kNow{};
  return sigtimedwait(&set_, nullptr, &kNow) > 0;
}

void askToStop() { ::kill(::getpid(), SIGTERM); }

void endSoon() { alarm(kStopSeconds); }

}  // namespace gs::process
