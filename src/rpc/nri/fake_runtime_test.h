// For tests: a container runtime's side of NRI, with an encoder of its own, so that ours is not measured by
// itself. Numbers and layouts are written here a second time, on purpose.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rpc/nri/session.h"

namespace gs::rpc::nri {

/// A message of protobuf, as its bytes.
class Proto {
 public:
  Proto& number(unsigned field, std::uint64_t value) {
    varint(field << 3U);
    varint(value);
    return *this;
  }
  Proto& text(unsigned field, std::string_view value) {
    varint(field << 3U | 2U);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  Proto& message(unsigned field, const Proto& value) { return text(field, value.bytes_); }
  Proto& entry(unsigned field, std::string_view key, std::string_view value) {
    return message(field, Proto{}.text(1, key).text(2, value));
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  void varint(std::uint64_t value) {
    for (; value > 0x7F; value >>= 7U) { bytes_ += static_cast<char>((value & 0x7FU) | 0x80U); }
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

/// One field of a message that was read.
struct ProtoField {
  unsigned field = 0;
  std::uint64_t number = 0;
  std::string bytes{};
};

/// Of numbers and of what has a length; anything else ends it with a failure.
inline std::vector<ProtoField> fieldsOf(std::string_view message) {
  std::vector<ProtoField> out;
  std::size_t at = 0;
  const auto varint = [&] {
    std::uint64_t value = 0;
    for (unsigned shift = 0; at < message.size(); shift += 7) {
      const auto byte = static_cast<std::uint8_t>(message[at++]);
      value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
      if (byte < 0x80) { break; }
    }
    return value;
  };
  while (at < message.size()) {
    const std::uint64_t tag = varint();
    ProtoField one{.field = static_cast<unsigned>(tag >> 3U)};
    one.number = varint();
    if ((tag & 7U) == 2) {
      if (one.number > message.size() - at) {
        ADD_FAILURE() << "field " << one.field << " is cut off";
        return out;
      }
      one.bytes = message.substr(at, one.number);
      at += one.number;
    } else if ((tag & 7U) != 0) {
      ADD_FAILURE() << "field " << one.field << " is of type " << (tag & 7U);
      return out;
    }
    out.push_back(std::move(one));
  }
  return out;
}

/// The bytes of each such field, in order.
inline std::vector<std::string> fieldsOf(std::string_view message, unsigned field) {
  std::vector<std::string> out;
  for (ProtoField& one : fieldsOf(message)) {
    if (one.field == field) { out.push_back(std::move(one.bytes)); }
  }
  return out;
}
/// Of the first one; "": none.
inline std::string fieldOf(std::string_view message, unsigned field) {
  const auto all = fieldsOf(message, field);
  return all.empty() ? std::string{} : all.front();
}
/// 0: none.
inline std::uint64_t numberOf(std::string_view message, unsigned field) {
  std::uint64_t out = 0;
  for (const ProtoField& one : fieldsOf(message)) {
    if (one.field == field) { out = one.number; }
  }
  return out;
}

/// Speaks to a plugin, and reads what it says.
class FakeRuntime {
 public:
  struct Answer {
    std::uint64_t code = 0;
    std::string message{};
    std::string payload{};
  };

  /// The bytes of a call; its stream is lastStream().
  std::string call(std::string_view method, const Proto& payload) {
    last_ += 2;
    return frame(1, last_, 1, request("nri.pkg.api.v1alpha1.Plugin", method, payload));
  }
  /// To the plugin's registration.
  static std::string accept() { return frame(2, 1, 2, ""); }
  static std::string refuse(std::string_view why) {
    return frame(2, 1, 2, Proto{}.message(1, Proto{}.number(1, 2).text(2, why)).bytes());
  }
  static std::string request(std::string_view service, std::string_view method, const Proto& payload) {
    return Proto{}.text(1, service).text(2, method).text(3, payload.bytes()).number(4, 2'000'000'000).bytes();
  }
  /// The head of a frame in a piece of its own, as the runtime sends it, and its data in long ones.
  static std::string frame(std::uint32_t conn, std::uint32_t stream, std::uint8_t type,
                           std::string_view data) {
    constexpr std::size_t kLong = 100'000;
    std::string head = be32(static_cast<std::uint32_t>(data.size())) + be32(stream);
    head += static_cast<char>(type);
    head += '\0';
    std::string out = piece(conn, head);
    for (; !data.empty(); data.remove_prefix(std::min(kLong, data.size()))) {
      out += piece(conn, data.substr(0, kLong));
    }
    return out;
  }
  static std::string piece(std::uint32_t conn, std::string_view bytes) {
    return be32(conn) + be32(static_cast<std::uint32_t>(bytes.size())) + std::string{bytes};
  }
  [[nodiscard]] std::uint32_t lastStream() const { return last_; }

  /// Takes what the plugin sent, in any pieces.
  void read(std::string_view bytes) {
    trunk_ += bytes;
    while (trunk_.size() >= 8 && trunk_.size() >= 8 + u32(trunk_, 4)) {
      const std::size_t size = u32(trunk_, 4);
      EXPECT_LE(8 + size, 4096U) << "a runtime reads no longer pieces";
      std::string& stream = streams_[u32(trunk_, 0)];
      stream += trunk_.substr(8, size);
      trunk_.erase(0, 8 + size);
    }
    for (auto& [conn, stream] : streams_) {
      EXPECT_TRUE(conn == 1 || conn == 2) << conn;
      while (stream.size() >= 10 && stream.size() >= 10 + u32(stream, 0)) { takeFrame(conn, stream); }
    }
  }

  std::string plugin{};                       // "10-gpu-scheduler", once it has registered
  std::map<std::uint32_t, Answer> answers{};  // by stream
  std::vector<std::uint32_t> order_of_answers{};

 private:
  static std::string be32(std::uint32_t value) {
    std::string out;
    for (const unsigned shift : {24U, 16U, 8U, 0U}) { out += static_cast<char>(value >> shift & 0xFFU); }
    return out;
  }
  static std::size_t u32(std::string_view bytes, std::size_t at) {
    std::size_t out = 0;
    for (std::size_t i = at; i < at + 4; ++i) { out = out << 8U | static_cast<std::uint8_t>(bytes[i]); }
    return out;
  }
  void takeFrame(std::uint32_t conn, std::string& stream) {
    const std::size_t size = u32(stream, 0);
    const auto id = static_cast<std::uint32_t>(u32(stream, 4));
    const std::string data = stream.substr(10, size);
    EXPECT_EQ(stream[8], conn == 1 ? 2 : 1) << "on 1 the plugin answers, on 2 it asks";
    EXPECT_EQ(stream[9], 0);
    stream.erase(0, 10 + size);
    if (conn == 2) {
      EXPECT_EQ(id, 1U);
      EXPECT_EQ(fieldOf(data, 1), "nri.pkg.api.v1alpha1.Runtime");
      EXPECT_EQ(fieldOf(data, 2), "RegisterPlugin");
      EXPECT_EQ(plugin, "") << "it registers once";
      const std::string payload = fieldOf(data, 3);
      plugin = fieldOf(payload, 2) + "-" + fieldOf(payload, 1);
      return;
    }
    const std::string status = fieldOf(data, 1);
    const bool is_new =
        answers.emplace(id, Answer{numberOf(status, 1), fieldOf(status, 2), fieldOf(data, 2)}).second;
    EXPECT_TRUE(is_new) << "stream " << id << " is answered twice";
    order_of_answers.push_back(id);
  }

  std::uint32_t last_ = static_cast<std::uint32_t>(-1);  // the first one is 1
  std::string trunk_;
  std::map<std::uint32_t, std::string> streams_;  // by connection: what is not a whole frame yet
};

/// Messages of the runtime.
inline Proto configureCall() { return Proto{}.text(2, "containerd").text(3, "v2.2.9").number(4, 5000); }
inline Proto podOf(std::string_view id) {
  return Proto{}.text(1, id).text(2, "train").text(3, "u-1").text(4, "ml").entry(6, "gpu", "3");
}
inline Proto containerOf(std::string_view id) {
  return Proto{}.text(1, id).text(2, "s").text(3, "main").text(8, "A=1");
}
inline Proto containerCall(std::string_view id) {
  return Proto{}.message(1, podOf("s")).message(2, containerOf(id));
}

/// Writes down what it is told.
class RecordingPlugin final : public Plugin {
 public:
  void configured(const Runtime& runtime) override { note("configured " + runtime.name + runtime.version); }
  void synchronized(std::vector<PodSandbox> pods, std::vector<Container> containers) override {
    note("synchronized");
    for (const PodSandbox& pod : pods) { note(" pod " + pod.id); }
    for (const Container& container : containers) { note(" container " + container.id); }
    all = {.pods = std::move(pods), .containers = std::move(containers)};
  }
  Result<Adjustment> createContainer(const PodSandbox& pod, const Container& container) override {
    note("create " + pod.id + "/" + container.id);
    last = {.pod = pod, .container = container};
    return create ? create(container) : Adjustment{};
  }
  void containerStopped(const PodSandbox& pod, const Container& container) override {
    note("stopped " + pod.id + "/" + container.id);
  }
  void containerRemoved(const PodSandbox& pod, const Container& container) override {
    note("removed " + pod.id + "/" + container.id);
  }
  void podStarted(const PodSandbox& pod) override { note("pod started " + pod.id); }
  void podStopped(const PodSandbox& pod) override { note("pod stopped " + pod.id); }
  void podRemoved(const PodSandbox& pod) override { note("pod removed " + pod.id); }

  std::function<Result<Adjustment>(const Container&)> create{};
  std::vector<std::string> told{};
  Inventory all{};
  ContainerCall last{};

 private:
  void note(std::string what) { told.push_back(std::move(what)); }
};

}  // namespace gs::rpc::nri
