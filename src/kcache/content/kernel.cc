#include "kcache/content/kernel.h"

#include <fmt/format.h>

#include "base/hash.h"
#include "json/value.h"

namespace gs::kcache {
namespace {

constexpr std::size_t kHashDigits = 64;

/// 0 to 15; -1: it is no hex digit.
int hexValue(char c) {
  if (c >= '0' && c <= '9') { return c - '0'; }
  if (c >= 'a' && c <= 'f') { return c - 'a' + 10; }
  if (c >= 'A' && c <= 'F') { return c - 'A' + 10; }
  return -1;
}

/// The hash's bytes in digits of that many bits each, without padding; nullopt: it is no hash.
std::optional<std::string> encodedHash(std::string_view hash, std::string_view digits, int digit_bits) {
  if (hash.size() != kHashDigits) { return std::nullopt; }
  std::string out;
  unsigned bits = 0;
  int count = 0;  // of those in `bits` that are still to be written
  for (const char c : hash) {
    const int value = hexValue(c);
    if (value < 0) { return std::nullopt; }
    bits = (bits << 4U) | static_cast<unsigned>(value);
    count += 4;
    if (count >= digit_bits) {
      count -= digit_bits;
      out += digits[(bits >> static_cast<unsigned>(count)) & (digits.size() - 1)];
    }
  }
  if (count > 0) { out += digits[(bits << static_cast<unsigned>(digit_bits - count)) & (digits.size() - 1)]; }
  return out;
}

}  // namespace

Result<std::optional<Kernel>> readKernel(std::string_view text) {
  const auto value = json::parse(text);
  if (!value) { return tl::unexpected(value.error()); }
  if (!value->isObject()) { return fail(Code::Invalid, "it is no JSON object"); }
  const json::Value& json = *value;
  if (json["hash"].str().empty()) { return std::nullopt; }
  const json::Value& target = json["target"];
  return Kernel{
      .hash = std::string{json["hash"].str()},
      .ptx_version = json["ptx_version"].intOr(0),
      .num_stages = json["num_stages"].intOr(0),
      .num_warps = json["num_warps"].intOr(0),
      .debug = json["debug"].boolOr(false),
      .target = {std::string{target["backend"].str()}, archOf(target["arch"]), target["warp_size"].intOr(0)}};
}

std::optional<std::string> kernelFolder(std::string_view hash) {
  return encodedHash(hash, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 5);
}

bool isKernelFolder(std::string_view folder, std::string_view hash) {
  return folder == kernelFolder(hash) || folder == hash ||
         folder == encodedHash(hash, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", 6);
}

std::string dummyKey(const Kernel& kernel) {
  const std::string backend =
      fmt::format("{}-{}-{}", kernel.target.backend, kernel.target.arch, kernel.target.warp_size);
  const std::string options =
      fmt::format(R"({{"debug":{},"num_stages":{},"num_warps":{},"ptx":{}}})", kernel.debug,
                  kernel.num_stages, kernel.num_warps, kernel.ptx_version);
  return sha256Hex(fmt::format("unknown-triton-key-{}-{}-{}-{}", sha256Hex("dummy_source_content"),
                               sha256Hex(backend), sha256Hex(options), sha256Hex("{}")));
}

}  // namespace gs::kcache
