// What mcv was asked: its flags as values, and what of them goes together. The words are those of the
// ancestor's mcv 1.0; --inspect, --from, --to, --push and how registries are asked, --sign, --verify (whose
// words are cosign's), --mount-path and --output are ours.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "kcache/image/reference.h"

namespace gs::mcv {

/// Exit statuses.
inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;  // extracting, or no GPU matches
inline constexpr int kNotCreated = 2;
inline constexpr int kWrong = 3;  // flags, or GPUs that cannot be looked at

struct Options {
  std::string image{};
  std::string dir{};
  bool create = false;
  bool extract = false;
  bool inspect = false;
  bool gpu_info = false;
  bool check_compat = false;
  bool baremetal = false;
  bool no_gpu = false;
  bool stub = false;
  std::string from{};
  std::string to{};
  bool push = false;
  std::string authfile{};
  std::string ca_file{};
  std::string mirrors{};  // as cacherim/registry/mirrors.h has them
  bool plain_http = false;
  std::string sign{};  // a private key's file
  bool verify = false;
  std::string key{};  // a public key's file
  std::string identity{};
  std::string identity_pattern{};
  std::string issuer{};
  std::string issuer_pattern{};
  std::string trusted_root{};  // a file
  std::string mount_path{};
  std::string output = "text";
  std::string log_level = "info";
  std::string builder = "auto";                    // taken, and without meaning: no builder is called
  int timeout = 10;                                // the same: nothing is remembered of GPUs
  std::string nvml_library = "libnvidia-ml.so.1";  // by tests another one
  std::string rocm_library{};                      // "": as noderim/rocm.h tries them
};

/// Error Invalid: what of them cannot be together, or is missing.
[[nodiscard]] Status validate(const Options& options);

/// A place of images, "oci:FOLDER" or "docker-archive:FILE"; all behind the colon is the path.
struct Place {
  enum class Kind : std::uint8_t { OciLayout, DockerArchive };
  Kind kind{};
  std::string path;
  [[nodiscard]] std::string text() const;
};
/// Error Invalid: it is neither; `flag` is named.
[[nodiscard]] Result<Place> parsePlace(const std::string& flag, const std::string& text);

/// Where an image goes without --to: a docker-archive in the working folder, which `podman load` and
/// `docker load` take: vector-add-cache-rocm.tar of quay.io/gkm/vector-add-cache:rocm.
[[nodiscard]] Place defaultPlace(const kcache::Reference& image);
/// The last part of its name.
[[nodiscard]] std::string titleOf(const kcache::Reference& image);

}  // namespace gs::mcv
