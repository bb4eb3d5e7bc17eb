#include "mcv/options.h"

#include <gtest/gtest.h>

namespace gs::mcv {
namespace {

const std::string kImage = "quay.io/gkm/cache-examples:vector-add-cache-cuda";

std::string saidOf(const Options& options) {
  const Status fine = validate(options);
  return fine ? "" : fine.error().message;
}

// The ancestor's TestValidateFlagCombinations, and the texts of its messages.
TEST(McvOptions, WhatDoesNotGoTogetherIsSaid) {
  struct Row {
    Options options;
    const char* said;
  };
  const Row table[] = {
      {{.image = kImage, .dir = "d", .create = true}, ""},
      {{.image = kImage, .check_compat = true}, ""},
      {{.image = kImage, .extract = true, .no_gpu = true}, ""},
      {{.image = kImage, .inspect = true}, ""},
      {{.gpu_info = true, .stub = true}, ""},
      {{.dir = "d", .create = true}, "--image is required when using --create, --extract, or --check-compat"},
      {{.extract = true}, "--image is required when using --create, --extract, or --check-compat"},
      {{.check_compat = true}, "--image is required when using --create, --extract, or --check-compat"},
      {{.inspect = true}, "--image is required when using --inspect"},
      {{.image = kImage, .create = true, .extract = true}, "only one action flag can be specified at a time"},
      {{.image = "invalid:image_name", .dir = "d", .create = true},
       "error validating image name: image 'invalid:image_name': write its registry too, as "
       "quay.io/gkm/vector-add-cache:rocm"},
      {{.image = kImage, .create = true}, "--dir is required when using --create"},
      {{.stub = true}, "--stub can only be used with --gpu-info"},
      {{}, "no action specified. Use --help to see available options"},
      {{.gpu_info = true, .no_gpu = true}, "--no-gpu cannot be used with --gpu-info"},
      {{.image = kImage, .check_compat = true, .no_gpu = true},
       "--no-gpu cannot be used with --check-compat"},
      {{.image = kImage, .dir = "d", .create = true, .push = true, .authfile = "a"}, ""},
      {{.image = kImage, .dir = "d", .create = true, .to = "oci:x", .push = true}, ""},
      {{.image = kImage, .dir = "d", .create = true, .to = "docker-archive:x", .push = true},
       "--push needs a --to of oci:FOLDER, or none"},
      {{.image = kImage, .extract = true, .push = true}, "--push can only be used with --create"},
      {{.image = kImage, .extract = true, .authfile = "a", .ca_file = "c", .plain_http = true}, ""},
      {{.image = kImage, .extract = true, .from = "oci:x", .authfile = "a"},
       "--authfile, --ca-file and --registry-mirror are for images in registries: with --push, or without "
       "--from"},
      {{.image = kImage, .dir = "d", .create = true, .ca_file = "c"},
       "--authfile, --ca-file and --registry-mirror are for images in registries: with --push, or without "
       "--from"},
      {{.image = kImage, .extract = true, .from = "oci:x", .mirrors = "quay.io=https://m"},
       "--authfile, --ca-file and --registry-mirror are for images in registries: with --push, or without "
       "--from"},
      {{.image = kImage, .dir = "d", .create = true, .plain_http = true},
       "--plain-http is for images in registries: with --push, or without --from"},
      {{.image = kImage, .extract = true, .to = "oci:x"}, "--to can only be used with --create"},
      {{.image = kImage, .dir = "d", .create = true, .from = "oci:x"},
       "--from can only be used with --extract, --inspect, or --check-compat"},
      {{.image = kImage, .extract = true, .from = "x"},
       "--from is 'x'; write oci:FOLDER or docker-archive:FILE"},
      {{.image = kImage, .extract = true, .from = "oci:"},
       "--from is 'oci:'; write oci:FOLDER or docker-archive:FILE"},
      {{.image = kImage, .extract = true, .mount_path = "x"}, "--mount-path is no absolute path"},
      {{.image = kImage, .inspect = true, .mount_path = "/x"},
       "--mount-path can only be used with --extract"},
      {{.image = "quay.io/a@sha256:" + std::string(64, 'a'), .dir = "d", .create = true},
       "--create gives a tag to what it makes, and no digest"},
      {{.image = "quay.io/a:b@sha256:" + std::string(64, 'a'), .dir = "d", .create = true},
       "--create gives a tag to what it makes, and no digest"},
      {{.image = kImage, .dir = "d", .create = true, .push = true, .sign = "k"}, ""},
      {{.image = kImage, .dir = "d", .create = true, .sign = "k"},
       "--sign needs --create and --push: signatures lie in registries"},
      {{.image = kImage, .verify = true, .key = "k"}, ""},
      {{.image = kImage, .extract = true, .verify = true, .key = "k"}, ""},
      {{.image = kImage,
        .check_compat = true,
        .verify = true,
        .identity = "me",
        .issuer = "i",
        .trusted_root = "r"},
       ""},
      {{.verify = true, .key = "k"}, "--image is required when using --verify"},
      {{.image = kImage, .extract = true, .key = "k"},
       "--key, --certificate-... and --trusted-root are for --verify"},
      {{.image = kImage, .dir = "d", .create = true, .verify = true, .key = "k"},
       "--verify can only be used with --extract, --inspect, --check-compat, or alone"},
      {{.image = kImage, .extract = true, .from = "oci:x", .verify = true, .key = "k"},
       "--verify cannot be used with --from: signatures lie in registries"},
      {{.image = kImage, .verify = true}, "--verify needs --key, or --certificate-identity and its like"},
      {{.image = kImage, .verify = true, .trusted_root = "r"},
       "--verify needs --key, or --certificate-identity and its like"},
      {{.image = kImage, .verify = true, .key = "k", .trusted_root = "r"},
       "--verify takes --key, or --certificate-... and --trusted-root, and not both"},
      {{.image = kImage, .verify = true, .identity = "me", .trusted_root = "r"},
       "--verify needs one of --certificate-identity and --certificate-identity-regexp, and one of "
       "--certificate-oidc-issuer and --certificate-oidc-issuer-regexp: without one anybody could sign"},
      {{.image = kImage, .verify = true, .identity = "me", .issuer = "i"},
       "--certificate-identity needs --trusted-root FILE"},
  };
  for (const Row& row : table) { EXPECT_EQ(saidOf(row.options), row.said) << row.options.image; }
}

TEST(McvOptions, AnImageGoesByDefaultWherePodmanLoadsItFrom) {
  const auto image = *kcache::parseReference("quay.io/gkm/vector-add-cache:rocm");
  EXPECT_EQ(defaultPlace(image).text(), "docker-archive:vector-add-cache-rocm.tar");
  EXPECT_EQ(titleOf(image), "vector-add-cache");
  EXPECT_EQ(parsePlace("--to", "oci:a:b")->path, "a:b");
}

}  // namespace
}  // namespace gs::mcv
