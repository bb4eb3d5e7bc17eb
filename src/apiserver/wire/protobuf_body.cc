#include "apiserver/wire/protobuf_body.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "base/ascii.h"
#include "base/base64.h"

namespace gs::apiserver {
namespace {

constexpr std::string_view kMagic{"k8s\0", 4};

// One message per line (one that begins with a space goes on with the message before): its name, then its
// fields as NUMBER:FORM:NAME, with :MESSAGE for those that are messages. Forms: text texts int bool intstr
// map (of texts) bytes (a map of them) one many. Fields that are not here are passed over. The first are
// kinds.
constexpr const char* kMessages = R"(
v1/Namespace 1:one:metadata:Meta
v1/ConfigMap 1:one:metadata:Meta 2:map:data 4:bool:immutable
v1/ServiceAccount 1:one:metadata:Meta
v1/Secret 1:one:metadata:Meta 2:bytes:data 3:text:type 5:bool:immutable
v1/Service 1:one:metadata:Meta 2:one:spec:ServiceSpec
rbac.authorization.k8s.io/v1/Role 1:one:metadata:Meta 2:many:rules:Rule
rbac.authorization.k8s.io/v1/ClusterRole 1:one:metadata:Meta 2:many:rules:Rule
rbac.authorization.k8s.io/v1/RoleBinding 1:one:metadata:Meta 2:many:subjects:Subject 3:one:roleRef:RoleRef
rbac.authorization.k8s.io/v1/ClusterRoleBinding 1:one:metadata:Meta 2:many:subjects:Subject
  3:one:roleRef:RoleRef
scheduling.k8s.io/v1/PriorityClass 1:one:metadata:Meta 2:int:value 3:bool:globalDefault 4:text:description
  5:text:preemptionPolicy
authorization.k8s.io/v1/SelfSubjectAccessReview 1:one:metadata:Meta 2:one:spec:AccessSpec
authorization.k8s.io/v1/SelfSubjectRulesReview 1:one:metadata:Meta 2:one:spec:RulesSpec
authentication.k8s.io/v1/SelfSubjectReview 1:one:metadata:Meta
apps/v1/Deployment 1:one:metadata:Meta 2:one:spec:DeploymentSpec
batch/v1/Job 1:one:metadata:Meta 2:one:spec:JobSpec
DeploymentSpec 1:int:replicas 2:one:selector:LabelSelector 3:one:template:PodTemplate 5:int:minReadySeconds
  6:int:revisionHistoryLimit 7:bool:paused 9:int:progressDeadlineSeconds
JobSpec 1:int:parallelism 2:int:completions 3:int:activeDeadlineSeconds 4:one:selector:LabelSelector
  5:bool:manualSelector 6:one:template:PodTemplate 7:int:backoffLimit 8:int:ttlSecondsAfterFinished
  9:text:completionMode 10:bool:suspend
ServiceSpec 1:many:ports:ServicePort 2:map:selector 3:text:clusterIP 4:text:type 10:text:externalName
ServicePort 1:text:name 2:text:protocol 3:int:port 4:intstr:targetPort 5:int:nodePort
LabelSelector 1:map:matchLabels
PodTemplate 1:one:metadata:Meta 2:one:spec:PodSpec
PodSpec 2:many:containers:Container 3:text:restartPolicy 4:int:terminationGracePeriodSeconds
  5:int:activeDeadlineSeconds 7:map:nodeSelector 8:text:serviceAccountName 19:text:schedulerName
Container 1:text:name 2:text:image 3:texts:command 4:texts:args 5:text:workingDir 6:many:ports:Port
  7:many:env:Variable
Port 1:text:name 2:int:hostPort 3:int:containerPort 4:text:protocol 5:text:hostIP
Variable 1:text:name 2:text:value
Meta 1:text:name 2:text:generateName 3:text:namespace 11:map:labels 12:map:annotations
Rule 1:texts:verbs 2:texts:apiGroups 3:texts:resources 4:texts:resourceNames 5:texts:nonResourceURLs
Subject 1:text:kind 2:text:apiGroup 3:text:name 4:text:namespace
RoleRef 1:text:apiGroup 2:text:kind 3:text:name
AccessSpec 1:one:resourceAttributes:Resource 2:one:nonResourceAttributes:Path
Resource 1:text:namespace 2:text:verb 3:text:group 4:text:version 5:text:resource 6:text:subresource
  7:text:name
Path 1:text:path 2:text:verb
RulesSpec 1:text:namespace
)";

constexpr std::size_t kMaxFields = 10'000;

/// One field of a message. Only varints and length-delimited fields are kept; the others are skipped.
struct Wire {
  std::uint64_t number = 0;
  std::uint64_t varint = 0;
  std::string_view bytes;
};

std::optional<std::uint64_t> takeVarint(std::string_view& in) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !in.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(in.front());
    in.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7fU} << shift;
    if ((byte & 0x80U) == 0) { return value; }
  }
  return std::nullopt;
}

bool skip(std::string_view& in, std::size_t bytes) {
  if (in.size() < bytes) { return false; }
  in.remove_prefix(bytes);
  return true;
}

/// nullopt: malformed.
std::optional<std::vector<Wire>> fieldsIn(std::string_view in) {
  std::vector<Wire> out;
  while (!in.empty()) {
    const auto tag = takeVarint(in);
    if (!tag || *tag >> 3U == 0 || out.size() >= kMaxFields) { return std::nullopt; }
    Wire field{*tag >> 3U, 0, {}};
    const auto type = *tag & 7U;
    if (type == 0) {
      const auto value = takeVarint(in);
      if (!value) { return std::nullopt; }
      field.varint = *value;
    } else if (type == 2) {
      const auto size = takeVarint(in);
      if (!size || *size > in.size()) { return std::nullopt; }
      field.bytes = in.substr(0, *size);
      in.remove_prefix(*size);
    } else if (!(type == 1 && skip(in, 8)) && !(type == 5 && skip(in, 4))) {
      return std::nullopt;
    }
    out.push_back(field);
  }
  return out;
}

std::string_view bytesOf(const std::vector<Wire>& fields, std::uint64_t number) {
  for (const Wire& field : fields) {
    if (field.number == number) { return field.bytes; }
  }
  return {};
}

struct MessageField {
  std::string form;
  std::string name;
  std::string message;
};
using Message = std::map<std::uint64_t, MessageField>;
using Messages = std::map<std::string, Message, std::less<>>;

MessageField fieldOf(const std::string& word, std::uint64_t& number) {
  std::istringstream parts{word};
  std::string digits;
  MessageField field;
  std::getline(parts, digits, ':');
  std::getline(parts, field.form, ':');
  std::getline(parts, field.name, ':');
  std::getline(parts, field.message, ':');
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return field;
}

const Messages& messages() {
  static const Messages kAll = [] {
    Messages out;
    for (const auto& line : foldedLines(kMessages)) {
      std::istringstream words{line};
      std::string name;
      words >> name;
      for (std::string word; words >> word;) {
        std::uint64_t number = 0;
        MessageField field = fieldOf(word, number);
        out[name][number] = std::move(field);
      }
    }
    return out;
  }();
  return kAll;
}

json::Value readMessage(const Message& message, std::string_view bytes);

/// An IntOrString: which of them it is, the number, the text.
json::Value numberOrText(std::string_view bytes) {
  std::int64_t number = 0;
  bool is_text = false;
  const auto fields = fieldsIn(bytes).value_or(std::vector<Wire>{});
  for (const Wire& field : fields) {
    if (field.number == 1) { is_text = field.varint != 0; }
    if (field.number == 2) { number = static_cast<std::int64_t>(field.varint); }
  }
  return is_text ? json::Value{bytesOf(fields, 3)} : json::Value{number};
}

void addField(json::Value& out, const MessageField& field, const Wire& wire) {
  if (field.form == "text" && !wire.bytes.empty()) { out.set(field.name, wire.bytes); }
  if (field.form == "texts") { out.child(field.name).array().emplace_back(wire.bytes); }
  if (field.form == "int") { out.set(field.name, static_cast<std::int64_t>(wire.varint)); }
  if (field.form == "bool" && wire.varint != 0) { out.set(field.name, true); }
  if (field.form == "one") { out.set(field.name, readMessage(messages().at(field.message), wire.bytes)); }
  if (field.form == "many") {
    out.child(field.name).array().push_back(readMessage(messages().at(field.message), wire.bytes));
  }
  if (field.form == "intstr") { out.set(field.name, numberOrText(wire.bytes)); }
  if (field.form != "map" && field.form != "bytes") { return; }
  if (const auto entry = fieldsIn(wire.bytes)) {
    const auto value = bytesOf(*entry, 2);
    out.child(field.name)
        .set(bytesOf(*entry, 1),
             field.form == "bytes" ? json::Value{encodeBase64(value)} : json::Value{value});
  }
}

/// What is malformed inside is left out. The messages do not nest in themselves.
json::Value readMessage(const Message& message, std::string_view bytes) {
  json::Value out = json::Object{};
  const auto fields = fieldsIn(bytes);
  if (!fields) { return out; }
  for (const Wire& wire : *fields) {
    if (const auto field = message.find(wire.number); field != message.end()) {
      addField(out, field->second, wire);
    }
  }
  return out;
}

}  // namespace

Answer<json::Value> readProtobuf(std::string_view bytes) {
  // runtime.Unknown: typeMeta = 1 {apiVersion = 1, kind = 2}, raw = 2
  if (!bytes.starts_with(kMagic)) {
    return badRequest(
        "the body of the request is not Kubernetes protobuf: it does not begin with \"k8s\\0\"");
  }
  const auto envelope = fieldsIn(bytes.substr(kMagic.size()));
  const auto type = fieldsIn(envelope ? bytesOf(*envelope, 1) : std::string_view{});
  const auto raw_bytes = envelope ? bytesOf(*envelope, 2) : std::string_view{};
  if (!envelope || !type || !fieldsIn(raw_bytes)) {
    return badRequest("the protobuf body of the request is malformed");
  }
  const auto version = bytesOf(*type, 1);
  const auto kind = bytesOf(*type, 2);
  json::Value out = json::Object{{"apiVersion", version}, {"kind", kind}};
  const auto known = messages().find(fmt::format("{}/{}", version, kind));
  if (known != messages().end()) {
    json::Value object = readMessage(known->second, raw_bytes);
    for (auto& [name, value] : object.object()) { out.set(name, std::move(value)); }
    return out;
  }
  return refuse(415, "UnsupportedMediaType",
                fmt::format("the sandbox does not read protobuf bodies of this kind, a {} of {}; send JSON "
                            "or YAML instead: kubectl create ... --dry-run=client -o yaml | "
                            "kubectl apply -f -",
                            goQuote(kind), goQuote(version)));
}

}  // namespace gs::apiserver
