#include "base/worker.h"

#include <pthread.h>

#include <cstdlib>
#include <exception>
#include <utility>

#include "base/log.h"

namespace gs {
namespace {

void runBody(std::stop_token stop, const std::string& name,
             const std::function<void(std::stop_token)>& body) {
  ::pthread_setname_np(::pthread_self(), name.substr(0, 15).c_str());
  try {
    body(std::move(stop));
  } catch (const std::exception& problem) {
    log::error("a thread ended with an exception; stopping the process",
               {{"thread", name}, {"what", problem.what()}});
    std::_Exit(EXIT_FAILURE);
  }
}

}  // namespace

Worker::Worker(std::string name, std::function<void(std::stop_token)> body)
    : thread_{[name = std::move(name), body = std::move(body)](std::stop_token stop) {
        runBody(std::move(stop), name, body);
      }} {}

void Worker::join() {
  if (thread_.joinable()) { thread_.join(); }
}

}  // namespace gs
