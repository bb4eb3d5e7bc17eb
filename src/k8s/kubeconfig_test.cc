#include "k8s/kubeconfig.h"

#include <gtest/gtest.h>

#include <string>

#include <filesystem>
#include <fstream>
#include <map>

#include "base/temp_folder_test.h"

namespace gs::k8s {
namespace {

constexpr const char* kFull = R"(apiVersion: v1
kind: Config
current-context: main
preferences: {}
clusters:
- name: one
  cluster:
    server: https://10.0.0.1:6443/
    certificate-authority-data: Q0E=
- name: files
  cluster:
    server: https://[::1]:6443/prefix
    certificate-authority: pki/ca.crt
    tls-server-name: api.example
    proxy-url: http://proxy:3128
- name: open
  cluster: {server: "http://127.0.0.1:8080", insecure-skip-tls-verify: true}
users:
- name: cert
  user: {client-certificate-data: Q0VSVA==, client-key-data: S0VZ}
- name: paths
  user: {client-certificate: a.crt, client-key: /abs/a.key}
- name: token
  user: {token: abc.def}
- name: token-file
  user: {tokenFile: ../token}
contexts:
- name: main
  context: {cluster: one, user: cert, namespace: team-a}
- name: files
  context: {cluster: files, user: paths}
- name: token
  context: {cluster: one, user: token}
- name: token-file
  context: {cluster: one, user: token-file}
- name: nobody
  context: {cluster: open, user: ""}
)";

Access resolved(const std::string& context) {
  const auto config = parseKubeconfig(kFull, "/etc/k/config");
  EXPECT_TRUE(config.has_value()) << (config ? "" : config.error().message);
  const auto access = resolveAccess(*config, context);
  EXPECT_TRUE(access.has_value()) << (access ? "" : access.error().message);
  return access.value_or(Access{});
}

TEST(Kubeconfig, CurrentContextWithDataInTheFile) {
  const Access access = resolved("");
  EXPECT_EQ(access.server, "https://10.0.0.1:6443");
  EXPECT_EQ(access.tls.ca_pem, "CA");
  EXPECT_EQ(access.tls.cert_pem, "CERT");
  EXPECT_EQ(access.tls.key_pem, "KEY");
  EXPECT_EQ(access.ns, "team-a");
  EXPECT_EQ(access.origin, "context main of /etc/k/config");
  EXPECT_FALSE(access.tls.insecure);
}

TEST(Kubeconfig, RelativePathsAreBelowTheFilesFolder) {
  const Access access = resolved("files");
  EXPECT_EQ(access.tls.ca_file, "/etc/k/pki/ca.crt");
  EXPECT_EQ(access.tls.cert_file, "/etc/k/a.crt");
  EXPECT_EQ(access.tls.key_file, "/abs/a.key");
  EXPECT_EQ(access.tls.server_name, "api.example");
  EXPECT_EQ(access.proxy, "http://proxy:3128");
  EXPECT_EQ(access.server, "https://[::1]:6443/prefix");
  EXPECT_EQ(access.ns, "default");
  EXPECT_EQ(resolved("token-file").token_file, "/etc/k/../token");
}

TEST(Kubeconfig, TokensAndNobody) {
  EXPECT_EQ(resolved("token").token, "abc.def");
  const Access nobody = resolved("nobody");
  EXPECT_TRUE(nobody.tls.insecure);
  EXPECT_EQ(nobody.token, "");
}

TEST(Kubeconfig, TheFirstFileThatNamesSomethingWins) {
  auto first = *parseKubeconfig(
      "clusters: [{name: a, cluster: {server: https://first}}]\ncontexts: [{name: c, context: {cluster: a, "
      "user: u}}]\n",
      "/one/f");
  auto second = *parseKubeconfig(
      "current-context: c\nclusters: [{name: a, cluster: {server: https://second}}, {name: b, cluster: "
      "{server: x}}]\n"
      "users: [{name: u, user: {tokenFile: t}}]\ncontexts: [{name: c, context: {cluster: b}}]\n",
      "/two/f");
  mergeKubeconfig(first, second);
  const auto access = resolveAccess(first, "");
  ASSERT_TRUE(access.has_value()) << access.error().message;
  EXPECT_EQ(access->server, "https://first");
  EXPECT_EQ(access->token_file, "/two/t");
  EXPECT_EQ(access->origin, "context c of /one/f");
}

struct Bad {
  const char* name;
  const char* text;
  std::vector<const char*> says;
};
class KubeconfigRefuses : public testing::TestWithParam<Bad> {};
TEST_P(KubeconfigRefuses, AndNamesFileFieldAndFix) {
  const auto config = parseKubeconfig(GetParam().text, "/etc/k/config");
  const auto access = config ? resolveAccess(*config, "") : tl::unexpected(config.error());
  ASSERT_FALSE(access.has_value());
  EXPECT_NE(access.error().message.find("/etc/k/config"), std::string::npos) << access.error().message;
  for (const char* part : GetParam().says) {
    EXPECT_NE(access.error().message.find(part), std::string::npos) << access.error().message;
  }
}
#define GS_CONTEXT "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"
#define GS_CLUSTER "clusters: [{name: k, cluster: {server: https://h}}]\n"
INSTANTIATE_TEST_SUITE_P(
    Table, KubeconfigRefuses,
    testing::Values(
        Bad{"Empty", "", {"no current-context", "use-context"}}, Bad{"NoYaml", "a: [", {"kubeconfig"}},
        Bad{"AList", "- a\n", {"is not a kubeconfig"}},
        Bad{"TwoDocuments", "a: 1\n---\nb: 1\n", {"more than one"}},
        Bad{"ContextUnknown",
            "current-context: x\ncontexts: [{name: c}]\n",
            {"no context x", "there are: c"}},
        Bad{"ClusterUnknown", GS_CONTEXT, {"cluster 'k'", "does not exist"}},
        Bad{"UserUnknown", GS_CONTEXT GS_CLUSTER, {"user 'u'", "does not exist"}},
        Bad{"ServerMissing",
            GS_CONTEXT "clusters: [{name: k}]\nusers: [{name: u}]\n",
            {"cluster k", "https://HOST:PORT"}},
        Bad{"ServerNoUrl",
            GS_CONTEXT "clusters: [{name: k, cluster: {server: 'ftp://h'}}]\nusers: [{name: u}]\n",
            {"'ftp://h'"}},
        Bad{"ServerWithBlank",
            GS_CONTEXT "clusters: [{name: k, cluster: {server: \"https://h\\r\\nX: y\"}}]\n"
                       "users: [{name: u}]\n",
            {"is not a URL"}},
        Bad{"InsecureWithCa",
            GS_CONTEXT "clusters: [{name: k, cluster: {server: https://h, certificate-authority: x, "
                       "insecure-skip-tls-verify: true}}]\nusers: [{name: u}]\n",
            {"insecure-skip-tls-verify", "remove"}},
        Bad{"NoName", "clusters: [{cluster: {}}]\n", {"clusters[0].name", "missing"}},
        Bad{"NotAList", "users: {a: b}\n", {"users", "is not a list"}},
        Bad{"TokenIsANumber", "users: [{name: u, user: {token: 123}}]\n", {"users[0].user.token", "quotes"}},
        Bad{"FlagIsText",
            "clusters: [{name: k, cluster: {insecure-skip-tls-verify: maybe}}]\n",
            {"insecure-skip-tls-verify", "true nor false"}},
        Bad{"NoBase64",
            "clusters: [{name: k, cluster: {certificate-authority-data: 'a b'}}]\n",
            {"certificate-authority-data", "base64"}},
        Bad{"Exec",
            GS_CONTEXT GS_CLUSTER "users: [{name: u, user: {exec: {command: aws}}}]\n",
            {"exec", "not supported", "kubectl create token"}},
        Bad{"AuthProvider",
            GS_CONTEXT GS_CLUSTER "users: [{name: u, user: {auth-provider: {name: gcp}}}]\n",
            {"auth-provider", "not supported"}},
        Bad{"Password",
            GS_CONTEXT GS_CLUSTER "users: [{name: u, user: {username: a, password: b}}]\n",
            {"username", "not supported"}},
        Bad{"Impersonation", GS_CONTEXT GS_CLUSTER "users: [{name: u, user: {as: admin}}]\n", {"uses as,"}},
        Bad{"CertWithoutKey",
            GS_CONTEXT GS_CLUSTER "users: [{name: u, user: {client-certificate: a}}]\n",
            {"no key", "client-key"}},
        Bad{"KeyWithoutCert",
            GS_CONTEXT GS_CLUSTER "users: [{name: u, user: {client-key-data: S0VZ}}]\n",
            {"no certificate"}},
        Bad{"TokenWithLineBreak",
            GS_CONTEXT GS_CLUSTER "users: [{name: u, user: {token: \"a\\nX: y\"}}]\n",
            {"line breaks"}}),
    [](const auto& info) { return std::string{info.param.name}; });

// ---- Which files are read

class LoadAccess : public testing::Test {
 protected:
  LoadAccess() {
    surroundings_.env = [this](const char* name) -> std::optional<std::string> {
      const auto found = env_.find(name);
      return found == env_.end() ? std::nullopt : std::optional{found->second};
    };
    surroundings_.service_account_dir = dir_ + "/sa";
  }
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path{dir_ + "/" + name}.parent_path());
    std::ofstream{dir_ + "/" + name} << text;
  }
  static std::string config(const std::string& server) {
    return "current-context: c\ncontexts: [{name: c, context: {cluster: k}}]\nclusters: [{name: k, cluster: "
           "{server: '" +
           server + "'}}]\n";
  }
  void bePod() {
    env_["KUBERNETES_SERVICE_HOST"] = "10.96.0.1";
    env_["KUBERNETES_SERVICE_PORT"] = "443";
    write("sa/token", "tok\n");
    write("sa/ca.crt", "CA");
    write("sa/namespace", "gpu-system");
  }
  Result<Access> load(const std::string& flag = {}) { return loadAccess(flag, "", surroundings_); }

  const TempFolder folder_;
  const std::string dir_ = folder_.path().string();
  std::map<std::string, std::string> env_;
  Surroundings surroundings_;
};

TEST_F(LoadAccess, TheFlagWinsOverEverything) {
  bePod();
  write("flag", config("https://flag"));
  env_["KUBECONFIG"] = dir_ + "/other";
  EXPECT_EQ(load(dir_ + "/flag")->server, "https://flag");
  const auto missing = load(dir_ + "/none");
  ASSERT_FALSE(missing.has_value());
  EXPECT_NE(missing.error().message.find(dir_ + "/none"), std::string::npos);
}

TEST_F(LoadAccess, ListSkipsMissingFilesButNotAllOfThem) {
  write("b", config("https://b"));
  write("c", config("https://c"));
  env_["KUBECONFIG"] = dir_ + "/a::" + dir_ + "/b:" + dir_ + "/c";
  EXPECT_EQ(load()->server, "https://b");
  env_["KUBECONFIG"] = dir_ + "/a";
  EXPECT_NE(load().error().message.find("KUBECONFIG"), std::string::npos);
}

TEST_F(LoadAccess, InAPodItIsTheServiceAccount) {
  bePod();
  const auto access = load();
  ASSERT_TRUE(access.has_value()) << access.error().message;
  EXPECT_EQ(access->server, "https://10.96.0.1:443");
  EXPECT_EQ(access->token_file, dir_ + "/sa/token");
  EXPECT_EQ(access->tls.ca_file, dir_ + "/sa/ca.crt");
  EXPECT_EQ(access->ns, "gpu-system");
  env_["KUBERNETES_SERVICE_HOST"] = "fd00::1";
  EXPECT_EQ(load()->server, "https://[fd00::1]:443");
}

TEST_F(LoadAccess, AnotherServerIsAskedWithWhatIsNamedOrWithoutCredentials) {
  const auto to = [this](const char* server, const std::string& flag = "") {
    return loadAccessTo(server, flag, "", surroundings_);
  };
  const auto bare = to("10.0.0.9:8080/");
  ASSERT_TRUE(bare.has_value()) << bare.error().message;
  EXPECT_EQ(bare->server, "http://10.0.0.9:8080");
  EXPECT_EQ(bare->token + bare->token_file, "");
  EXPECT_FALSE(to("").has_value());
  EXPECT_FALSE(to("https://there", dir_ + "/none").has_value());
  env_["KUBECONFIG"] = dir_ + "/none";
  EXPECT_FALSE(to("https://there").has_value());
  env_.clear();
  write("flag", config("https://flag"));
  EXPECT_EQ(to("https://there", dir_ + "/flag")->server, "https://there");
  bePod();
  const auto pod = to("https://there");
  ASSERT_TRUE(pod.has_value()) << pod.error().message;
  EXPECT_EQ(pod->server, "https://there");
  EXPECT_EQ(pod->token_file, "") << "another server is not told who the pod is";
}

TEST_F(LoadAccess, AMasterThatIsNoPlainUrlIsRefusedAndNotRepeated) {
  write("flag", config("https://flag"));
  for (const char* server :
       {"https://admin:hunter2@there", "admin:hunter2@there:8080", "http://there/?token=hunter2",
        "https://there/#hunter2", "https://", "http:///hunter2", ":8080", "ftp://hunter2", "hunter2 there",
        "hunter2\\there", "https://there\r\nX: hunter2"}) {
    for (const std::string& flag : {std::string{}, dir_ + "/flag"}) {
      const auto access = loadAccessTo(server, flag, "", surroundings_);
      ASSERT_FALSE(access.has_value()) << server << " became " << access->server;
      EXPECT_EQ(access.error().code, Code::Invalid) << server;
      EXPECT_NE(access.error().message.find("--master"), std::string::npos) << access.error().message;
      EXPECT_EQ(access.error().message.find("hunter2"), std::string::npos) << access.error().message;
    }
  }
}

/// Errors are logged.
TEST_F(LoadAccess, AServerWithAUserIsRefusedAndNotRepeated) {
  for (const char* server : {"https://admin:hunter2@there", "admin:hunter2@there", "ftp://u:hunter2@there"}) {
    write("flag", config(server));
    const auto access = load(dir_ + "/flag");
    ASSERT_FALSE(access.has_value()) << server;
    EXPECT_NE(access.error().message.find("names a user"), std::string::npos) << access.error().message;
    EXPECT_EQ(access.error().message.find("hunter2"), std::string::npos) << access.error().message;
  }
}

TEST_F(LoadAccess, APodWithoutServiceAccountIsToldSo) {
  bePod();
  std::filesystem::remove(dir_ + "/sa/token");
  const auto access = load();
  ASSERT_FALSE(access.has_value());
  EXPECT_NE(access.error().message.find("automountServiceAccountToken"), std::string::npos);
}

TEST_F(LoadAccess, ElseTheHomeFileElseAllThatWasTriedIsNamed) {
  env_["HOME"] = dir_;
  const auto nothing = load();
  ASSERT_FALSE(nothing.has_value());
  for (const char* part : {"--kubeconfig", "KUBECONFIG", "KUBERNETES_SERVICE_HOST", "/.kube/config"}) {
    EXPECT_NE(nothing.error().message.find(part), std::string::npos) << nothing.error().message;
  }
  write(".kube/config", config("https://home"));
  EXPECT_EQ(load()->server, "https://home");
}

TEST_F(LoadAccess, AMissingCertificateFileIsNamed) {
  write("flag",
        "current-context: c\ncontexts: [{name: c, context: {cluster: k}}]\n"
        "clusters: [{name: k, cluster: {server: 'https://x', certificate-authority: none.crt}}]\n");
  const auto access = load(dir_ + "/flag");
  ASSERT_FALSE(access.has_value());
  EXPECT_NE(access.error().message.find("none.crt"), std::string::npos) << access.error().message;
}

TEST_F(LoadAccess, UnreadableAndHugeFilesAreErrors) {
  EXPECT_NE(load(dir_).error().message.find("folder"), std::string::npos);
  write("huge", std::string((std::size_t{4} << 20) + 1, '#'));
  EXPECT_EQ(load(dir_ + "/huge").error().code, Code::Invalid);
}

}  // namespace
}  // namespace gs::k8s
