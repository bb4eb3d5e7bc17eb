// For tests: a container runtime's end of NRI on a socket of the system (rpc/nri/fake_runtime_test.h is its
// bytes). It waits for what is to come without a limit: the test has one.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "net/socket.h"
#include "rpc/nri/fake_runtime_test.h"

namespace gs::noderim {

/// The runtime's end of one connection.
class NriLink {
 public:
  explicit NriLink(int fd) : fd_{fd} { EXPECT_TRUE(fd_.valid()); }

  void send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const auto put = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      ASSERT_GT(put, 0);
      bytes.remove_prefix(static_cast<std::size_t>(put));
    }
  }
  /// False: it was closed.
  bool readSome() {
    char bytes[4096];
    const auto got = ::recv(fd_.get(), bytes, sizeof bytes, 0);
    if (got > 0) { runtime.read({bytes, static_cast<std::size_t>(got)}); }
    return got > 0;
  }
  void readToTheEnd() {
    while (readSome()) {}
  }
  rpc::nri::FakeRuntime::Answer ask(std::string_view method, const rpc::nri::Proto& payload) {
    send(runtime.call(method, payload));
    while (!runtime.answers.contains(runtime.lastStream()) && readSome()) {}
    return runtime.answers[runtime.lastStream()];
  }
  /// `configure`: who it says that it is; `synchronize`: what it has.
  void registerIt(const rpc::nri::Proto& configure = rpc::nri::configureCall(),
                  const rpc::nri::Proto& synchronize = {}) {
    while (runtime.plugin.empty() && readSome()) {}
    EXPECT_EQ(runtime.plugin, "10-gpu-scheduler");
    send(rpc::nri::FakeRuntime::accept());
    EXPECT_EQ(ask("Configure", configure).code, 0U);
    EXPECT_EQ(ask("Synchronize", synchronize).code, 0U);
  }
  void close() { fd_.reset(); }

  rpc::nri::FakeRuntime runtime{};

 private:
  net::Fd fd_;
};

/// A runtime's socket.
class NriListener {
 public:
  explicit NriListener(std::string path) : path_{std::move(path)} {}

  /// From now on; one from before goes, with whoever dialled it.
  void listen() {
    (void)::unlink(path_.c_str());
    listening_ = net::Fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    ASSERT_LT(path_.size(), sizeof address.sun_path);
    std::copy(path_.begin(), path_.end(), address.sun_path);
    ASSERT_EQ(::bind(listening_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(::listen(listening_.get(), 8), 0);
  }
  NriLink accept() const { return NriLink{::accept(listening_.get(), nullptr, nullptr)}; }
  [[nodiscard]] int fd() const { return listening_.get(); }

 private:
  const std::string path_;
  net::Fd listening_;
};

}  // namespace gs::noderim
