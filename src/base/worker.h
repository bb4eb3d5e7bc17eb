// Worker: one named thread that asks itself to stop. Its body runs until it returns; the destructor requests
// the stop and joins, so whatever the body uses must be declared before the Worker (destroyed after it). A
// body that waits for a Mailbox or a socket is woken by closing those first.
// An exception out of the body is logged and ends the process: nobody could go on in that thread's place.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <thread>

namespace gs {

class Worker {
 public:
  /// `name` is shown by ps and gdb, cut to 15 bytes.
  Worker(std::string name, std::function<void(std::stop_token)> body);

  /// Waits for the body to return. A second call does nothing.
  void join();

 private:
  std::jthread thread_;
};

}  // namespace gs
