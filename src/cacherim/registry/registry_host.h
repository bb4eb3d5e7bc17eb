// RegistryHost: one server that speaks the distribution API (a registry, or a mirror of one): a request to it
// with what belongs to one try: who to be, tokens, redirects.
//
// Credentials go to this host, and to the token server that it names, only: not to where it redirects to.
// Nothing that began with TLS goes on without. Each credential that fits is tried once per request, 16 at
// most; a token is kept until it is over. Whether to try again is the caller's business (RegistryRetry).
// One thread at a time; cancel() from any.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cacherim/registry/challenge.h"
#include "cacherim/registry/registry_options.h"
#include "net/http_client.h"
#include "net/url.h"

namespace gs::cacherim {

/// Why there is no answer to go on with.
struct Refusal {
  Error error;
  bool again = false;  // trying again may help
  Duration retry_after{};
};
using Reply = tl::expected<net::Answer, Refusal>;

struct RegistryAsk {
  std::string method = "GET";
  std::string target{};          // path and query
  std::optional<net::Url> at{};  // instead: where an upload goes
  net::Headers headers{};
  std::string body{};
  std::function<net::Upload()> upload{};  // instead of `body`; made again for each time that it is sent
  std::string repository{};
  std::string rights = "pull";  // or "pull,push"
  std::size_t max_body = std::size_t{4} << 20;
  bool any_end = false;                  // what a redirect led to is an answer too, whatever its status
  const net::TakePiece* take = nullptr;  // set: a download, limited by idleness instead of options.request
};

class RegistryHost {
 public:
  /// `base`: its path stands before the name of each repository. `context` outlives this.
  RegistryHost(RegistryContext& context, net::Url base, bool may_be_plain);

  /// Gives any answer below 500 but 401, 403, 408 and 429.
  [[nodiscard]] Reply once(const RegistryAsk& ask, Mono deadline);
  /// "/v2/<repository>/<rest>" here.
  [[nodiscard]] std::string targetOf(const std::string& repository, const std::string& rest) const;
  /// A Location header of an answer, or a Link, that has to be of this host.
  [[nodiscard]] Result<net::Url> placeOf(const net::Answer& answer, std::string_view header) const;
  [[nodiscard]] std::string name() const { return base_.origin(); }
  void cancel();

 private:
  struct Authorization {
    std::string header;
    Mono until = Mono::max();
  };
  using Authorized = tl::expected<Authorization, Refusal>;
  struct Followed {
    net::Answer answer;
    net::Url at;
    bool elsewhere = false;
    std::optional<Refusal> refusal{};
  };

  [[nodiscard]] std::optional<Refusal> settleScheme(Mono deadline);
  [[nodiscard]] Followed follow(const RegistryAsk& ask, const std::string& authorization, Mono deadline);
  [[nodiscard]] net::Answer send(const RegistryAsk& ask, const net::Url& at, bool elsewhere,
                                 const std::string& authorization, Mono deadline);
  [[nodiscard]] Reply authenticate(const RegistryAsk& ask, const net::Answer& asked, Mono deadline);
  [[nodiscard]] Authorized authorize(const std::vector<Challenge>& challenges, const Credential& who,
                                     const RegistryAsk& ask, Mono deadline);
  [[nodiscard]] Authorized fetchToken(const Challenge& challenge, const Credential& who,
                                      const RegistryAsk& ask, Mono deadline);
  [[nodiscard]] Reply judge(const RegistryAsk& ask, Followed followed) const;
  [[nodiscard]] std::string known(const std::string& scope) const;
  [[nodiscard]] bool hasUsualPort() const;
  [[nodiscard]] std::string registryName() const;
  [[nodiscard]] Duration left(Mono deadline) const;

  RegistryContext& context_;
  net::Url base_;
  std::string prefix_;  // "mirrored/", or ""
  bool settled_;        // TLS or not is known
  net::HttpClient own_;
  net::HttpClient elsewhere_;                            // where it redirects to, and its token server
  std::map<std::string, Authorization> authorizations_;  // by scope
};

/// "repository:a/b:pull"
[[nodiscard]] std::string scopeOf(const RegistryAsk& ask);

}  // namespace gs::cacherim
