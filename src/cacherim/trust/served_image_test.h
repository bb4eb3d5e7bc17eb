// For tests only: an image and its signatures, served over HTTP by a registry in one of many manners, with
// a clock that moves by each answer.
#pragma once

#include <map>
#include <string>

#include "cacherim/registry/registry_fixture_test.h"
#include "cacherim/trust/image_of_test.h"

namespace gs::cacherim::trust {

class ServedImage {
 public:
  /// How one thing is answered.
  struct Manner {
    Duration takes{};
    int status = 0;          // 0: as it is there
    std::string text{};      // instead of what is there
    std::string location{};  // of a redirect
  };
  explicit ServedImage(ManualClock& clock) : clock_{clock} {}

  [[nodiscard]] FakeRegistry::Handle serving() {
    return [this](Peer& peer, const net::Request& request, int) {
      const std::string path{request.path()};
      const std::string last = path.substr(path.rfind('/') + 1);
      const bool is_list = path.find("/referrers/") != std::string::npos;
      const auto manner = manners.find(is_list ? "referrers" : last);
      const Manner how = manner == manners.end() ? Manner{} : manner->second;
      clock_.advance(how.takes + each);
      const net::Headers to =
          how.location.empty() ? net::Headers{} : net::Headers{{"Location", how.location + path}};
      const bool is_blob = path.find("/blobs/") != std::string::npos;
      peer.write(how.status != 0 ? http(how.status, to, how.text) : is_list ? list() : there(is_blob, last));
      return true;
    };
  }
  /// Answers as serving(), but all of it as it is there.
  [[nodiscard]] FakeRegistry::Handle servingAsIs() {
    return [this](Peer& peer, const net::Request& request, int) {
      const std::string path{request.path()};
      peer.write(there(path.find("/blobs/") != std::string::npos, path.substr(path.rfind('/') + 1)));
      return true;
    };
  }
  [[nodiscard]] std::string fallbackTag() const { return "sha256-" + std::string{image.digest.hex()}; }
  [[nodiscard]] std::string olderTag() const {
    return kcache::trust::signatureTag(image.reference, image.digest).tag;
  }
  /// The index that stands in for the list.
  void putUnderFallbackTag() {
    image.images.manifests[fallbackTag()] =
        kcache::printIndex({std::string{kcache::media::kOciIndex}, image.referrers, {}});
  }
  /// A bundle with a statement about that image: 0 that it is signed, else that number's attestation.
  [[nodiscard]] kcache::trust::Bundle bundleBy(const signature::PrivateKey& key, int number = 0) const {
    std::string statement = kcache::trust::printStatement(image.digest.hex());
    if (number != 0) {
      const std::string sign{kcache::trust::kSignPredicate};
      statement.replace(statement.find(sign), sign.size(), "https://example.com/" + std::to_string(number));
    }
    kcache::trust::Envelope envelope{std::string{kcache::trust::kStatementType}, statement, ""};
    envelope.signature = *key.sign(kcache::trust::signedTextOf(envelope));
    return {.certificates = {}, .key_hint = "", .entries = {}, .timestamps = {}, .content = envelope};
  }

  SignedImage image;
  std::map<std::string, Manner> manners;  // by the last part of the path; of a list "referrers"
  Duration each{};

 private:
  [[nodiscard]] std::string list() const {
    return http(200, {}, kcache::printIndex({std::string{kcache::media::kOciIndex}, image.referrers, {}}));
  }
  [[nodiscard]] std::string there(bool is_blob, const std::string& name) const {
    const auto& from = is_blob ? image.images.blobs : image.images.manifests;
    const auto it = from.find(name);
    return it == from.end() ? http(404, {}, "") : http(200, {}, it->second);
  }

  ManualClock& clock_;
};

}  // namespace gs::cacherim::trust
