#include "rpc/csi_server.h"

#include <csi.grpc.pb.h>
#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/resource_quota.h>
#include <pluginregistration.grpc.pb.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "base/log.h"
#include "base/mutex.h"
#include "base/worker.h"

namespace gs::rpc {
namespace {

namespace csi = ::csi::v1;
namespace registration = ::pluginregistration;

constexpr int kMostOfARequest = 1 << 20;
constexpr int kThreadsBesideCalls = 8;
constexpr std::string_view kUnix = "unix:";

grpc::StatusCode codeOf(Code code) {
  switch (code) {
    case Code::Invalid: return grpc::StatusCode::INVALID_ARGUMENT;
    case Code::NotFound: return grpc::StatusCode::NOT_FOUND;
    case Code::Conflict: return grpc::StatusCode::FAILED_PRECONDITION;
    case Code::Unavailable: return grpc::StatusCode::UNAVAILABLE;
    case Code::Deadline: return grpc::StatusCode::DEADLINE_EXCEEDED;
    case Code::Internal: break;
  }
  return grpc::StatusCode::INTERNAL;
}

grpc::Status statusOf(const Error& error) { return {codeOf(error.code), error.message}; }
grpc::Status statusOf(const Status& done) { return done ? grpc::Status::OK : statusOf(done.error()); }

PublishRequest valuesOf(const csi::NodePublishVolumeRequest& request) {
  const csi::VolumeCapability& capability = request.volume_capability();
  const auto& flags = capability.mount().mount_flags();
  return {.volume_id = request.volume_id(),
          .target_path = request.target_path(),
          .has_capability = request.has_volume_capability(),
          .is_block = capability.has_block(),
          .mount_flags = {flags.begin(), flags.end()},
          .read_only = request.readonly(),
          .context = {request.volume_context().begin(), request.volume_context().end()}};
}

void write(const VolumeStats::Amount& amount, csi::VolumeUsage::Unit unit, csi::VolumeUsage& out) {
  out.set_total(amount.total);
  out.set_used(amount.used);
  out.set_available(amount.available);
  out.set_unit(unit);
}

class RegistrationService final : public registration::Registration::Service {
 public:
  RegistrationService(const CsiServer::Options& options, CsiDriver& driver)
      : options_{options}, driver_{driver} {}
  grpc::Status GetInfo(grpc::ServerContext*, const registration::InfoRequest*,
                       registration::PluginInfo* out) override {
    out->set_type("CSIPlugin");
    out->set_name(options_.driver);
    out->set_endpoint(options_.socket);
    out->add_supported_versions("1.0.0");
    return grpc::Status::OK;
  }
  grpc::Status NotifyRegistrationStatus(grpc::ServerContext*, const registration::RegistrationStatus* request,
                                        registration::RegistrationStatusResponse*) override {
    driver_.registered(request->plugin_registered(), request->error());
    return grpc::Status::OK;
  }

 private:
  const CsiServer::Options& options_;
  CsiDriver& driver_;
};

class IdentityService final : public csi::Identity::Service {
 public:
  IdentityService(const CsiServer::Options& options, CsiDriver& driver)
      : options_{options}, driver_{driver} {}
  grpc::Status GetPluginInfo(grpc::ServerContext*, const csi::GetPluginInfoRequest*,
                             csi::GetPluginInfoResponse* out) override {
    out->set_name(options_.driver);
    out->set_vendor_version(options_.version);
    return grpc::Status::OK;
  }
  grpc::Status GetPluginCapabilities(grpc::ServerContext*, const csi::GetPluginCapabilitiesRequest*,
                                     csi::GetPluginCapabilitiesResponse*) override {
    return grpc::Status::OK;
  }
  grpc::Status Probe(grpc::ServerContext*, const csi::ProbeRequest*, csi::ProbeResponse* out) override {
    out->mutable_ready()->set_value(driver_.ready().has_value());
    return grpc::Status::OK;
  }

 private:
  const CsiServer::Options& options_;
  CsiDriver& driver_;
};

class NodeCalls final : public csi::Node::Service {
 public:
  NodeCalls(const CsiServer::Options& options, CsiDriver& driver) : options_{options}, driver_{driver} {}

  grpc::Status NodePublishVolume(grpc::ServerContext*, const csi::NodePublishVolumeRequest* request,
                                 csi::NodePublishVolumeResponse*) override {
    return limited([&] { return statusOf(driver_.publish(valuesOf(*request))); });
  }
  grpc::Status NodeUnpublishVolume(grpc::ServerContext*, const csi::NodeUnpublishVolumeRequest* request,
                                   csi::NodeUnpublishVolumeResponse*) override {
    return limited([&] {
      return statusOf(
          driver_.unpublish({.volume_id = request->volume_id(), .target_path = request->target_path()}));
    });
  }
  grpc::Status NodeGetVolumeStats(grpc::ServerContext*, const csi::NodeGetVolumeStatsRequest* request,
                                  csi::NodeGetVolumeStatsResponse* out) override {
    return limited([&] {
      const auto stats =
          driver_.stats({.volume_id = request->volume_id(), .volume_path = request->volume_path()});
      if (!stats) { return statusOf(stats.error()); }
      write(stats->bytes, csi::VolumeUsage::BYTES, *out->add_usage());
      write(stats->inodes, csi::VolumeUsage::INODES, *out->add_usage());
      return grpc::Status::OK;
    });
  }
  grpc::Status NodeGetCapabilities(grpc::ServerContext*, const csi::NodeGetCapabilitiesRequest*,
                                   csi::NodeGetCapabilitiesResponse* out) override {
    out->add_capabilities()->mutable_rpc()->set_type(csi::NodeServiceCapability::RPC::GET_VOLUME_STATS);
    return grpc::Status::OK;
  }
  grpc::Status NodeGetInfo(grpc::ServerContext*, const csi::NodeGetInfoRequest*,
                           csi::NodeGetInfoResponse* out) override {
    out->set_node_id(options_.node_id);
    return grpc::Status::OK;
  }

 private:
  struct Counted {
    explicit Counted(std::atomic<std::size_t>& all) : calls{all}, before{calls++} {}
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;
    ~Counted() { --calls; }
    std::atomic<std::size_t>& calls;
    const std::size_t before;
  };
  template <class Call>
  grpc::Status limited(const Call& call) {
    const Counted counted{calls_};
    if (counted.before >= options_.most_calls) {
      return {grpc::StatusCode::UNAVAILABLE,
              fmt::format("{} calls are under way, try again", options_.most_calls)};
    }
    return call();
  }

  const CsiServer::Options& options_;
  CsiDriver& driver_;
  std::atomic<std::size_t> calls_ = 0;
};

Status removeStale(const std::string& socket) {
  struct stat is {};
  if (::lstat(socket.c_str(), &is) != 0) {
    if (errno == ENOENT) { return {}; }
    return fail(Code::Unavailable, fmt::format("{}: {}", socket, std::strerror(errno)));
  }
  if (!S_ISSOCK(is.st_mode)) {
    return fail(Code::Conflict, fmt::format("{} is there, and no socket; remove it", socket));
  }
  if (::unlink(socket.c_str()) != 0 && errno != ENOENT) {
    return fail(Code::Unavailable, fmt::format("cannot remove {}: {}", socket, std::strerror(errno)));
  }
  return {};
}

/// Which file it is; 0: none.
ino_t inodeOf(const std::string& socket) {
  struct stat is {};
  return ::lstat(socket.c_str(), &is) == 0 && S_ISSOCK(is.st_mode) ? is.st_ino : 0;
}

}  // namespace

class CsiServer::Core {
 public:
  Core(Options options, CsiDriver& driver)
      : options_{std::move(options)},
        driver_{driver},
        registration_{options_, driver},
        identity_{options_, driver},
        node_{options_, driver} {}

  Status serve() {
    if (Status removed = removeStale(options_.socket); !removed) { return removed; }
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + options_.socket, grpc::InsecureServerCredentials());
    builder.SetMaxReceiveMessageSize(kMostOfARequest);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, static_cast<int>(options_.most_calls));
    builder.SetResourceQuota(grpc::ResourceQuota{"csi"}.SetMaxThreads(static_cast<int>(options_.most_calls) +
                                                                      kThreadsBesideCalls));
    builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::NUM_CQS, 1);
    for (grpc::Service* one : std::initializer_list<grpc::Service*>{&registration_, &identity_, &node_}) {
      builder.RegisterService(one);
    }
    server_ = builder.BuildAndStart();
    inode_ = inodeOf(options_.socket);
    if (server_ == nullptr || inode_ == 0 || ::chmod(options_.socket.c_str(), 0600) != 0) {
      return fail(
          Code::Unavailable,
          fmt::format("cannot serve at {}; is its folder there, and may we write to it?", options_.socket));
    }
    return {};
  }

  void watch() {
    watcher_.emplace("csi-socket", [this](const std::stop_token&) {
      while (waitedOn()) {
        if (const Status served = lookAtSocket(); !served) {
          log::error("cannot serve", {{"error", served.error().message}});
          if (options_.on_failure) { options_.on_failure(served.error()); }
          return;
        }
      }
    });
  }

  void stop(Duration grace) GS_EXCLUDES(mutex_) {
    {
      const MutexLock lock{mutex_};
      stopped_ = true;
      changed_.notifyAll();
    }
    driver_.stopping();  // the watcher may be waiting for calls
    if (watcher_) { watcher_->join(); }
    end(grace);
  }

 private:
  static constexpr Duration kGraceOfARestart = std::chrono::seconds{5};

  Status lookAtSocket() {
    const ino_t now = inodeOf(options_.socket);
    if (now == inode_) { return {}; }
    if (now != 0) {
      return fail(Code::Conflict, fmt::format("another process serves at {} now", options_.socket));
    }
    log::warn("the socket is gone and is made again", {{"socket", options_.socket}});
    end(kGraceOfARestart);
    return serve();
  }
  /// False: stop() was called.
  bool waitedOn() GS_EXCLUDES(mutex_) {
    const auto until = std::chrono::steady_clock::now() + options_.look_every;
    const MutexLock lock{mutex_};
    while (!stopped_ && changed_.waitUntil(mutex_, until)) {}
    return !stopped_;
  }
  /// gRPC removes the socket's file.
  void end(Duration grace) {
    if (server_ == nullptr) { return; }
    server_->Shutdown(std::chrono::system_clock::now() +
                      std::chrono::duration_cast<std::chrono::system_clock::duration>(grace));
    server_->Wait();
    server_.reset();
  }

  const Options options_;
  CsiDriver& driver_;
  RegistrationService registration_;
  IdentityService identity_;
  NodeCalls node_;
  std::unique_ptr<grpc::Server> server_;  // of the watcher's thread, while there is one
  ino_t inode_ = 0;                       // of the socket's file
  Mutex mutex_;
  Signal changed_;
  bool stopped_ GS_GUARDED_BY(mutex_) = false;
  std::optional<Worker> watcher_;
};

CsiServer::CsiServer(std::unique_ptr<Core> core) : core_{std::move(core)} {}
CsiServer::~CsiServer() { stop(Duration{}); }

Result<std::unique_ptr<CsiServer>> CsiServer::start(Options options, CsiDriver& driver) {
  if (options.socket.size() >= sizeof(sockaddr_un{}.sun_path)) {
    return fail(Code::Invalid, fmt::format("the path of the socket {} has more than {} bytes", options.socket,
                                           sizeof(sockaddr_un{}.sun_path) - 1));
  }
  auto core = std::make_unique<Core>(std::move(options), driver);
  if (Status served = core->serve(); !served) { return tl::unexpected(served.error()); }
  core->watch();
  return std::unique_ptr<CsiServer>{new CsiServer{std::move(core)}};
}

void CsiServer::stop(Duration grace) { core_->stop(grace); }

Result<std::string> socketPathOf(const std::string& endpoint) {
  std::string path = endpoint.starts_with(kUnix) ? endpoint.substr(kUnix.size()) : endpoint;
  if (path.starts_with("//")) { path.erase(0, 2); }
  if (path.size() < 2 || !path.starts_with('/')) {
    return fail(Code::Invalid,
                fmt::format("the endpoint '{}' is not of the form unix:///folder/name.sock", endpoint));
  }
  return path;
}

}  // namespace gs::rpc
