#include "k8s/kubeconfig.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/base64.h"
#include "json/value.h"
#include "yaml/yaml.h"

namespace gs::k8s {
namespace {

/// Reads fields of one kubeconfig file and keeps the first complaint.
class FieldReader {
 public:
  explicit FieldReader(std::string file) : file_{std::move(file)} {
    const auto slash = file_.rfind('/');
    folder_ = slash == std::string::npos ? "" : file_.substr(0, slash + 1);
  }

  /// "" when absent.
  std::string text(const json::Value& in, const std::string& path, const char* key) {
    const json::Value* found = in.find(key);
    if (found == nullptr || found->isNull()) { return {}; }
    if (!found->isString()) { complain(path + key, "is not text; put it in quotes"); }
    return std::string{found->str()};
  }
  std::string path(const json::Value& in, const std::string& path, const char* key) {
    std::string value = text(in, path, key);
    return value.empty() || value.starts_with('/') ? value : folder_ + value;
  }
  std::string base64(const json::Value& in, const std::string& path, const char* key) {
    auto decoded = decodeBase64(text(in, path, key));
    if (!decoded) {
      complain(path + key, "is not base64; make it with `base64 -w0 FILE`, or name the file in " +
                               std::string{key}.substr(0, std::string{key}.size() - 5));
    }
    return std::move(decoded).value_or("");
  }
  bool flag(const json::Value& in, const std::string& path, const char* key) {
    const json::Value* found = in.find(key);
    if (found != nullptr && !found->isNull() && !found->isBool()) {
      complain(path + key, "is neither true nor false");
    }
    return found != nullptr && found->boolOr(false);
  }
  /// Gives each entry of a list of {name, <what>} to `read`, with the path of <what>.
  template <class Read>
  void entries(const json::Value& root, const std::string& list, const char* what, const Read& read) {
    const json::Value* found = root.find(list);
    if (found == nullptr || found->isNull()) { return; }
    if (!found->isArray()) { complain(list, "is not a list"); }
    for (std::size_t i = 0; i < found->items().size(); ++i) {
      const json::Value& entry = found->at(i);
      const std::string path = fmt::format("{}[{}].", list, i);
      const std::string name = text(entry, path, "name");
      if (name.empty()) { complain(path + "name", "is missing"); }
      read(name, entry[what], path + what + ".");
    }
  }

  void complain(const std::string& field, const std::string& what) {
    if (complaint_.empty()) { complaint_ = fmt::format("kubeconfig {}: {} {}", file_, field, what); }
  }
  [[nodiscard]] const std::string& complaint() const { return complaint_; }
  [[nodiscard]] const std::string& file() const { return file_; }

 private:
  std::string file_;
  std::string folder_;  // with its slash
  std::string complaint_;
};

Kubeconfig::Cluster readCluster(FieldReader& reader, const std::string& name, const json::Value& v,
                                const std::string& path) {
  return {.name = name,
          .server = reader.text(v, path, "server"),
          .ca_pem = reader.base64(v, path, "certificate-authority-data"),
          .ca_file = reader.path(v, path, "certificate-authority"),
          .tls_server_name = reader.text(v, path, "tls-server-name"),
          .proxy_url = reader.text(v, path, "proxy-url"),
          .insecure = reader.flag(v, path, "insecure-skip-tls-verify"),
          .file = reader.file()};
}

Kubeconfig::User readUser(FieldReader& reader, const std::string& name, const json::Value& v,
                          const std::string& path) {
  Kubeconfig::User user{.name = name,
                        .cert_pem = reader.base64(v, path, "client-certificate-data"),
                        .cert_file = reader.path(v, path, "client-certificate"),
                        .key_pem = reader.base64(v, path, "client-key-data"),
                        .key_file = reader.path(v, path, "client-key"),
                        .token = reader.text(v, path, "token"),
                        .token_file = reader.path(v, path, "tokenFile"),
                        .unsupported = "",
                        .file = reader.file()};
  for (const char* field : {"exec", "auth-provider", "username", "password", "as", "as-uid", "as-groups"}) {
    const json::Value& value = v[field];
    if (!value.isNull() && !(value.isString() && value.str().empty())) {
      user.unsupported = field;
      break;
    }
  }
  return user;
}

Kubeconfig::Context readContext(FieldReader& reader, const std::string& name, const json::Value& v,
                                const std::string& path) {
  return {.name = name,
          .cluster = reader.text(v, path, "cluster"),
          .user = reader.text(v, path, "user"),
          .ns = reader.text(v, path, "namespace"),
          .file = reader.file()};
}

template <class T>
const T* findNamed(const std::vector<T>& all, const std::string& name) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const T& one) { return one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

template <class T>
void mergeNamed(std::vector<T>& into, std::vector<T> next) {
  for (T& one : next) {
    if (findNamed(into, one.name) == nullptr) { into.push_back(std::move(one)); }
  }
}

std::string namesOf(const std::vector<Kubeconfig::Context>& contexts) {
  std::string names;
  for (const auto& context : contexts) { names += (names.empty() ? "" : ", ") + context.name; }
  return names.empty() ? "none" : names;
}

}  // namespace

std::string serverUrl(std::string url) {
  const bool https = url.starts_with("https://");
  if (!https && !url.starts_with("http://")) { return {}; }
  while (url.ends_with('/')) { url.pop_back(); }
  const std::size_t host = https ? 8 : 7;
  if (url.size() <= host || url[host] == ':' || url[host] == '/') { return {}; }
  for (const char c : url) {
    if (c <= ' ' || c > '~' || c == '?' || c == '#' || c == '@' || c == '\\') { return {}; }
  }
  return url;
}

namespace {

/// The pair of certificate and key: both or none. "" or what is wrong.
std::string keyPairProblem(const Kubeconfig::User& user) {
  const bool cert = !user.cert_pem.empty() || !user.cert_file.empty();
  const bool key = !user.key_pem.empty() || !user.key_file.empty();
  if (cert && !key) { return "has a client certificate but no key; add client-key or client-key-data"; }
  if (key && !cert) {
    return "has a client key but no certificate; add client-certificate or client-certificate-data";
  }
  return {};
}

Status useCluster(const Kubeconfig::Cluster& cluster, Access& access) {
  const auto wrong = [&](const std::string& what) {
    return fail(Code::Invalid,
                fmt::format("kubeconfig {}: cluster {}: {}", cluster.file, cluster.name, what));
  };
  access.server = serverUrl(cluster.server);
  if (access.server.empty()) {
    const bool with_user = cluster.server.find('@') != std::string::npos;  // and perhaps a password
    return wrong(with_user
                     ? "server names a user before an @; write "
                       "https://HOST:PORT, and the user below `users`"
                     : fmt::format("server '{}' is not a URL; write https://HOST:PORT", cluster.server));
  }
  if (cluster.insecure && (!cluster.ca_pem.empty() || !cluster.ca_file.empty())) {
    return wrong("insecure-skip-tls-verify together with certificate-authority; remove one of them");
  }
  access.tls.ca_pem = cluster.ca_pem;
  access.tls.ca_file = cluster.ca_file;
  access.tls.server_name = cluster.tls_server_name;
  access.tls.insecure = cluster.insecure;
  access.proxy = cluster.proxy_url;
  return {};
}

Status useUser(const Kubeconfig::User& user, Access& access) {
  const auto wrong = [&](const std::string& what) {
    return fail(Code::Invalid, fmt::format("kubeconfig {}: user {} {}", user.file, user.name, what));
  };
  if (!user.unsupported.empty()) {
    return wrong(
        fmt::format("uses {}, which is not supported; use a client certificate, or `token` with what "
                    "`kubectl create token SERVICEACCOUNT` prints, or `tokenFile`",
                    user.unsupported));
  }
  if (const std::string problem = keyPairProblem(user); !problem.empty()) { return wrong(problem); }
  for (const char c : user.token) {
    if (c <= ' ' || c > '~') {
      return wrong("has a token with spaces or line breaks in it; write it on one line");
    }
  }
  access.tls.cert_pem = user.cert_pem;
  access.tls.cert_file = user.cert_pem.empty() ? user.cert_file : "";
  access.tls.key_pem = user.key_pem;
  access.tls.key_file = user.key_pem.empty() ? user.key_file : "";
  access.token = user.token;
  access.token_file = user.token_file;
  return {};
}

}  // namespace

Result<Kubeconfig> parseKubeconfig(std::string_view text, const std::string& file) {
  const auto bad = [&](const std::string& what) {
    return fail(Code::Invalid, fmt::format("kubeconfig {}: {}", file, what));
  };
  const auto documents = yaml::toJson(text);
  if (!documents) { return bad(documents.error().message); }
  if (documents->size() > 1) {
    return bad("more than one YAML document; keep the first, list the files in KUBECONFIG");
  }
  Kubeconfig config;
  config.files = file;
  if (documents->empty()) { return config; }
  const auto root = json::parse(documents->front());
  if (!root) { return bad(root.error().message); }
  if (root->isNull()) { return config; }
  if (!root->isObject()) { return bad("is not a kubeconfig: no `clusters:`, `users:`, `contexts:` in it"); }

  FieldReader reader{file};
  reader.entries(*root, "clusters", "cluster", [&](const auto& name, const auto& v, const auto& path) {
    config.clusters.push_back(readCluster(reader, name, v, path));
  });
  reader.entries(*root, "users", "user", [&](const auto& name, const auto& v, const auto& path) {
    config.users.push_back(readUser(reader, name, v, path));
  });
  reader.entries(*root, "contexts", "context", [&](const auto& name, const auto& v, const auto& path) {
    config.contexts.push_back(readContext(reader, name, v, path));
  });
  config.current_context = reader.text(*root, "", "current-context");
  if (!reader.complaint().empty()) { return fail(Code::Invalid, reader.complaint()); }
  return config;
}

void mergeKubeconfig(Kubeconfig& into, Kubeconfig next) {
  mergeNamed(into.clusters, std::move(next.clusters));
  mergeNamed(into.users, std::move(next.users));
  mergeNamed(into.contexts, std::move(next.contexts));
  if (into.current_context.empty()) { into.current_context = std::move(next.current_context); }
  into.files += (into.files.empty() ? "" : ", ") + next.files;
}

Result<Access> resolveAccess(const Kubeconfig& config, const std::string& context_name) {
  const std::string& name = context_name.empty() ? config.current_context : context_name;
  if (name.empty()) {
    return fail(Code::NotFound,
                fmt::format("kubeconfig {} has no current-context; run `kubectl config use-context "
                            "NAME` with one of: {}",
                            config.files, namesOf(config.contexts)));
  }
  const auto* context = findNamed(config.contexts, name);
  if (context == nullptr) {
    return fail(Code::NotFound, fmt::format("kubeconfig {} has no context {}; there are: {}", config.files,
                                            name, namesOf(config.contexts)));
  }
  const auto* cluster = findNamed(config.clusters, context->cluster);
  const auto* user = findNamed(config.users, context->user);
  const auto missing = [&](const char* what, const std::string& which) {
    return fail(Code::NotFound,
                fmt::format("kubeconfig {}: context {} names the {} '{}', which does not exist",
                            context->file, name, what, which));
  };
  if (cluster == nullptr) { return missing("cluster", context->cluster); }
  if (user == nullptr && !context->user.empty()) { return missing("user", context->user); }
  Access access;
  if (auto used = useCluster(*cluster, access); !used) { return tl::unexpected(used.error()); }
  if (user != nullptr) {
    if (auto used = useUser(*user, access); !used) { return tl::unexpected(used.error()); }
  }
  access.ns = context->ns.empty() ? "default" : context->ns;
  access.origin = fmt::format("context {} of {}", name, context->file);
  return access;
}

}  // namespace gs::k8s
