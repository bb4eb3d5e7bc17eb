// Any bytes as a layer: no crash, no hang; what is handed on lies below the cache's root, is as long as was
// said, and is within the limits.
#include <cstdint>
#include <string>
#include <string_view>

#include "cacherim/image/archive.h"

namespace {

void check(bool holds) {
  if (!holds) { __builtin_trap(); }
}

class Counted final : public gs::cacherim::LayerTaker {
 public:
  gs::Status folder(const gs::kcache::Placed& folder) override {
    look(folder);
    return {};
  }
  gs::Status beginFile(const gs::kcache::Placed& file, std::int64_t size) override {
    look(file);
    check(size >= 0);
    left_ = size;
    return {};
  }
  gs::Status piece(std::string_view bytes) override {
    left_ -= static_cast<std::int64_t>(bytes.size());
    total_ += static_cast<std::int64_t>(bytes.size());
    check(left_ >= 0 && total_ <= 1 << 20);
    return {};
  }
  gs::Status endFile() override { return {}; }

 private:
  static void look(const gs::kcache::Placed& placed) {
    const std::string framed = "/" + placed.path + "/";
    check(framed.find("/../") == std::string::npos);
    check(placed.path.empty() || framed.find("//") == std::string::npos);
  }
  std::int64_t left_ = 0;
  std::int64_t total_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view in{reinterpret_cast<const char*>(data), size};
  gs::kcache::LayerRules rules{{.most_bytes = 1 << 20}};
  Counted counted;
  const gs::Status read = gs::cacherim::readLayer(
      [&](const gs::cacherim::ByteSink& sink) -> gs::Status {
        if (in.empty() || sink(in)) { return {}; }
        return gs::fail(gs::Code::Conflict, "not wanted");
      },
      rules, counted);
  check(read || !read.error().message.empty());
  return 0;
}
