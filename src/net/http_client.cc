#include "net/http_client.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "net/socket.h"

namespace gs::net {
namespace {

void initialiseOnce() {
  static const bool done = [] {
    GS_CHECK(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK, "libcurl does not start");
    ignoreBrokenPipes();
    return true;
  }();
  static_cast<void>(done);
}

long millis(Duration d) {
  return static_cast<long>(
      std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::milliseconds>(d).count()));
}

/// Noticing a peer that is gone: 15 s of silence, then 3 probes 5 s apart; unacknowledged bytes for 30 s.
int tuneSocket(void* /*self*/, curl_socket_t fd, curlsocktype purpose) {
  if (purpose != CURLSOCKTYPE_IPCXN) { return CURL_SOCKOPT_OK; }
  const int probes = 3;
  const unsigned unacknowledged_ms = 30'000;
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
  ::setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacknowledged_ms, sizeof unacknowledged_ms);
  return CURL_SOCKOPT_OK;
}

struct Slist {
  curl_slist* head = nullptr;
  Slist() = default;
  Slist(const Slist&) = delete;
  Slist& operator=(const Slist&) = delete;
  ~Slist() { curl_slist_free_all(head); }
  void add(const std::string& line) { head = curl_slist_append(head, line.c_str()); }
};

void setBlob(CURL* easy, CURLoption option, const std::string& bytes) {
  curl_blob blob{};
  blob.data = const_cast<char*>(bytes.data());  // copied, not changed
  blob.len = bytes.size();
  blob.flags = CURL_BLOB_COPY;
  curl_easy_setopt(easy, option, &blob);
}

}  // namespace

/// One easy handle in one multi handle: the multi interface is what makes a blocking request cancellable.
class HttpClient::Core {
 public:
  explicit Core(Options options);
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;
  ~Core() {
    curl_multi_cleanup(multi_);
    curl_easy_cleanup(easy_);
  }

  using OnLine = std::function<bool(std::string_view)>;
  /// At most one of `on_line` and `take`.
  Answer run(const ClientRequest& request, const OnLine* on_line, const TakePiece* take);
  void cancel() {
    cancelled_.store(true);
    curl_multi_wakeup(multi_);
  }
  [[nodiscard]] bool cancelled() const { return cancelled_.load(); }

 private:
  /// What belongs to the request in progress.
  struct Transfer {
    const ClientRequest* request = nullptr;
    const OnLine* on_line = nullptr;
    const TakePiece* take = nullptr;
    Answer answer;
    std::string line;                                // the beginning of one that is not complete
    std::uint64_t taken = 0;                         // bytes that `take` was given
    std::uint64_t uploaded = 0;                      // bytes
    std::chrono::steady_clock::time_point active{};  // when something came or went last
    int attempts = 0;                                // how often libcurl was about to send it
    long sent_before = 0;         // bytes that libcurl counted before the first attempt (CONNECT to a proxy)
    bool stopped = false;         // on_line or `take` said so, or a refusal is long
    Failure why = Failure::None;  // set where a callback ends the transfer
  };

  void setTls();
  void prepare(const ClientRequest& request, Slist& headers, Slist& connect_to);
  std::string renameHost(const std::string& url, Slist& headers, Slist& connect_to) const;
  CURLcode perform();
  Answer conclude(CURLcode code);

  static int beforeRequest(void* self, char*, char*, int, int);
  static std::size_t onHeader(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t onBody(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t onUpload(char* to, std::size_t size, std::size_t count, void* self);
  bool takeLines(std::string_view bytes);
  bool takePiece(std::string_view bytes);
  bool keep(std::string_view bytes);
  [[nodiscard]] int statusSoFar() const;
  [[nodiscard]] bool idleTooLong();
  [[nodiscard]] int millisToWait() const;
  void touch() { transfer_.active = std::chrono::steady_clock::now(); }

  const Options options_;
  int last_status_ = 0;
  CURL* const easy_;
  CURLM* const multi_;
  std::array<char, CURL_ERROR_SIZE> error_{};
  std::atomic<bool> cancelled_ = false;
  Transfer transfer_;
};

HttpClient::Core::Core(Options options)
    : options_{std::move(options)}, easy_{curl_easy_init()}, multi_{curl_multi_init()} {
  GS_CHECK(easy_ != nullptr && multi_ != nullptr, "libcurl gives no handle");
  curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, 1L);
  const auto set = [this](CURLoption option, auto value) { curl_easy_setopt(easy_, option, value); };
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_QUICK_EXIT, 1L);  // cancel() does not wait for a name server
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1});
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_UPLOAD_BUFFERSIZE, 16'384L);  // bodies are a few KB, and there are many clients
  set(CURLOPT_TCP_KEEPALIVE, 1L);
  set(CURLOPT_TCP_KEEPIDLE, 15L);
  set(CURLOPT_TCP_KEEPINTVL, 5L);
  set(CURLOPT_SOCKOPTFUNCTION, &tuneSocket);
  set(CURLOPT_MAXAGE_CONN,
      static_cast<long>(std::chrono::floor<std::chrono::seconds>(options_.max_idle).count()));
  set(CURLOPT_MAXLIFETIME_CONN, 300L);  // a rotated certificate is shown, however busy the connection is
  set(CURLOPT_CONNECTTIMEOUT_MS, millis(options_.connect_timeout));
  set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  set(CURLOPT_ERRORBUFFER, error_.data());
  set(CURLOPT_PREREQFUNCTION, &beforeRequest);
  set(CURLOPT_PREREQDATA, static_cast<void*>(this));
  set(CURLOPT_HEADERFUNCTION, &onHeader);
  set(CURLOPT_HEADERDATA, static_cast<void*>(this));
  set(CURLOPT_WRITEFUNCTION, &onBody);
  set(CURLOPT_WRITEDATA, static_cast<void*>(this));
  set(CURLOPT_READFUNCTION, &onUpload);
  set(CURLOPT_READDATA, static_cast<void*>(this));
  if (options_.direct || !options_.proxy.empty()) {
    set(CURLOPT_PROXY, options_.direct ? "" : options_.proxy.c_str());
  }
  setTls();
}

void HttpClient::Core::setTls() {
  const ClientTls& tls = options_.tls;
  const auto set = [this](CURLoption option, auto value) { curl_easy_setopt(easy_, option, value); };
  set(CURLOPT_SSLVERSION, long{CURL_SSLVERSION_TLSv1_2});
  set(CURLOPT_SSL_VERIFYPEER, tls.insecure ? 0L : 1L);
  set(CURLOPT_SSL_VERIFYHOST, tls.insecure ? 0L : 2L);
  set(CURLOPT_CA_CACHE_TIMEOUT, 60L);
  set(CURLOPT_SSL_SESSIONID_CACHE, 0L);  // a resumed session would go on with the old client certificate
  if (!tls.ca_pem.empty()) {
    setBlob(easy_, CURLOPT_CAINFO_BLOB, tls.ca_pem);
  } else if (!tls.ca_file.empty()) {
    set(CURLOPT_CAINFO, tls.ca_file.c_str());
  }
  if ((!tls.ca_pem.empty() || !tls.ca_file.empty()) && !tls.system_too) {
    set(CURLOPT_CAPATH, static_cast<char*>(nullptr));
  }
  if (!tls.cert_pem.empty()) {
    setBlob(easy_, CURLOPT_SSLCERT_BLOB, tls.cert_pem);
  } else if (!tls.cert_file.empty()) {
    set(CURLOPT_SSLCERT, tls.cert_file.c_str());
  }
  if (!tls.key_pem.empty()) {
    setBlob(easy_, CURLOPT_SSLKEY_BLOB, tls.key_pem);
  } else if (!tls.key_file.empty()) {
    set(CURLOPT_SSLKEY, tls.key_file.c_str());
  }
}

/// libcurl checks a certificate against the name in the URL only. So the URL gets the wanted name, the
/// connection goes to the real host, and the Host header names the real host too.
std::string HttpClient::Core::renameHost(const std::string& url, Slist& headers, Slist& connect_to) const {
  const std::unique_ptr<CURLU, void (*)(CURLU*)> parsed{curl_url(), curl_url_cleanup};
  const auto part = [&](CURLUPart which, unsigned flags) {
    char* text = nullptr;
    if (curl_url_get(parsed.get(), which, &text, flags) != CURLUE_OK) { return std::string{}; }
    const std::unique_ptr<char, void (*)(void*)> owned{text, curl_free};
    return std::string{text};
  };
  if (curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK) { return url; }
  const std::string host = part(CURLUPART_HOST, 0);
  const std::string port = part(CURLUPART_PORT, CURLU_DEFAULT_PORT);
  headers.add("Host: " + host + ":" + port);
  connect_to.add("::" + host + ":" + port);
  curl_url_set(parsed.get(), CURLUPART_HOST, options_.tls.server_name.c_str(), 0);
  return part(CURLUPART_URL, 0);
}

void HttpClient::Core::prepare(const ClientRequest& request, Slist& headers, Slist& connect_to) {
  const auto set = [this](CURLoption option, auto value) { curl_easy_setopt(easy_, option, value); };
  std::string url = request.url;
  if (!options_.tls.server_name.empty()) { url = renameHost(url, headers, connect_to); }
  for (const auto& [name, value] : request.headers) { headers.add(fmt::format("{}: {}", name, value)); }
  headers.add("Expect:");  // never wait for "100 Continue"
  // The server looks at the client certificate of the connection: after a 401 a renewed one gets its chance.
  set(CURLOPT_FRESH_CONNECT, last_status_ == 401 ? 1L : 0L);
  set(CURLOPT_URL, url.c_str());
  set(CURLOPT_CONNECT_TO, connect_to.head);
  set(CURLOPT_NOBODY, 0L);
  set(CURLOPT_HTTPGET, 1L);
  if (request.method == "HEAD") {
    set(CURLOPT_NOBODY, 1L);
  } else if (request.upload) {
    set(CURLOPT_UPLOAD, 1L);
    set(CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(request.upload->size));
  } else if (!request.body.empty() || request.method == "POST" || request.method == "PUT" ||
             request.method == "PATCH") {
    set(CURLOPT_POST, 1L);
    set(CURLOPT_POSTFIELDS, request.body.c_str());
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    if (findHeader(request.headers, "Content-Type") == nullptr) { headers.add("Content-Type:"); }
  }
  set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
  set(CURLOPT_HTTPHEADER, headers.head);
  set(CURLOPT_TIMEOUT_MS, request.timeout > Duration::zero() ? millis(request.timeout) : 0L);
}

Answer HttpClient::Core::run(const ClientRequest& request, const OnLine* on_line, const TakePiece* take) {
  transfer_ = Transfer{};
  transfer_.request = &request;
  transfer_.on_line = on_line;
  transfer_.take = take;
  touch();
  error_.fill('\0');
  Slist headers;
  Slist connect_to;
  prepare(request, headers, connect_to);
  Answer answer = conclude(perform());
  curl_easy_setopt(easy_, CURLOPT_HTTPHEADER, nullptr);
  curl_easy_setopt(easy_, CURLOPT_CONNECT_TO, nullptr);
  return answer;
}

CURLcode HttpClient::Core::perform() {
  GS_CHECK(curl_multi_add_handle(multi_, easy_) == CURLM_OK, "two requests at once on one HttpClient");
  auto code = CURLE_ABORTED_BY_CALLBACK;
  int running = 1;
  while (running > 0) {
    if (cancelled_.load()) {
      transfer_.why = Failure::Cancelled;
      break;
    }
    if (curl_multi_perform(multi_, &running) != CURLM_OK) { break; }
    if (running > 0 && idleTooLong()) { break; }
    if (running > 0) { curl_multi_poll(multi_, nullptr, 0, millisToWait(), nullptr); }
  }
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
    if (message->msg == CURLMSG_DONE) { code = message->data.result; }
  }
  curl_multi_remove_handle(multi_, easy_);
  return code;
}

bool HttpClient::Core::idleTooLong() {
  const Duration idle = transfer_.request->idle;
  if (idle <= Duration::zero() || std::chrono::steady_clock::now() - transfer_.active < idle) {
    return false;
  }
  transfer_.why = Failure::Timeout;
  return true;
}

int HttpClient::Core::millisToWait() const {
  constexpr Duration kLongest = std::chrono::minutes{1};
  const Duration idle = transfer_.request->idle;
  if (idle <= Duration::zero()) { return static_cast<int>(millis(kLongest)); }
  const Duration left = transfer_.active + idle - std::chrono::steady_clock::now();
  return static_cast<int>(millis(std::min(kLongest, left)));
}

int HttpClient::Core::statusSoFar() const {
  long status = 0;
  curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
  return static_cast<int>(status);
}

Answer HttpClient::Core::conclude(CURLcode code) {
  Answer answer = std::move(transfer_.answer);
  const int status = statusSoFar();
  last_status_ = status;
  if (code == CURLE_OK && !transfer_.line.empty()) { (*transfer_.on_line)(transfer_.line); }
  if ((code == CURLE_OK || transfer_.stopped) && status > 0) {
    answer.status = status;
    answer.sent = true;
    curl_off_t retry_after_s = 0;
    curl_easy_getinfo(easy_, CURLINFO_RETRY_AFTER, &retry_after_s);
    answer.retry_after = std::chrono::seconds{std::clamp<curl_off_t>(retry_after_s, 0, 24 * 3600)};
    return answer;
  }
  long bytes_sent = 0;
  curl_easy_getinfo(easy_, CURLINFO_REQUEST_SIZE, &bytes_sent);
  answer.sent = transfer_.attempts > 0 && bytes_sent > transfer_.sent_before;
  if (transfer_.why != Failure::None) {
    answer.failure = transfer_.why;
  } else if (code == CURLE_OPERATION_TIMEDOUT) {
    answer.failure = Failure::Timeout;
  } else {
    answer.failure = transfer_.attempts > 0 ? Failure::Lost : Failure::Unreachable;
  }
  switch (answer.failure) {
    case Failure::Cancelled: answer.message = "the request was cancelled"; break;
    case Failure::Withheld: answer.message = "the request was held back before it was sent"; break;
    case Failure::TooLarge:
      answer.message = "the answer is over " + std::to_string(transfer_.request->max_body) + " bytes";
      break;
    case Failure::Cut: answer.message = "what was to be sent ended too early"; break;
    default:
      if (answer.failure == Failure::Timeout && code != CURLE_OPERATION_TIMEDOUT) {
        answer.message = fmt::format("nothing came or went for {} ms", millis(transfer_.request->idle));
        break;
      }
      answer.message = transfer_.attempts > 1 && code == CURLE_ABORTED_BY_CALLBACK
                           ? "the server closed the connection without an answer"
                           : (error_.front() != '\0' ? error_.data() : curl_easy_strerror(code));
  }
  answer.body.clear();
  answer.status = 0;
  return answer;
}

/// Called when the connection stands and the request would be sent next: again when libcurl wants to send it
/// once more on a new connection because the kept-alive one died. Only a read may be sent twice.
int HttpClient::Core::beforeRequest(void* self, char* /*ip*/, char* /*local*/, int /*port*/,
                                    int /*local_port*/) {
  auto& core = *static_cast<Core*>(self);
  Transfer& transfer = core.transfer_;
  const std::string& method = transfer.request->method;
  if (++transfer.attempts > 1 && method != "GET" && method != "HEAD") { return CURL_PREREQFUNC_ABORT; }
  if (transfer.request->before_send && !transfer.request->before_send()) {
    transfer.why = Failure::Withheld;
    return CURL_PREREQFUNC_ABORT;
  }
  if (transfer.attempts == 1) { curl_easy_getinfo(core.easy_, CURLINFO_REQUEST_SIZE, &transfer.sent_before); }
  return CURL_PREREQFUNC_OK;
}

std::size_t HttpClient::Core::onHeader(char* data, std::size_t size, std::size_t count, void* self) {
  static_cast<Core*>(self)->touch();
  Headers& headers = static_cast<Core*>(self)->transfer_.answer.headers;
  std::string_view line{data, size * count};
  while (line.ends_with('\n') || line.ends_with('\r')) { line.remove_suffix(1); }
  if (line.starts_with("HTTP/")) { headers.clear(); }  // also after a 1xx answer
  if (const auto colon = line.find(':'); colon != std::string_view::npos) {
    std::string_view value = line.substr(colon + 1);
    while (value.starts_with(' ') || value.starts_with('\t')) { value.remove_prefix(1); }
    headers.emplace_back(line.substr(0, colon), value);
  }
  return size * count;
}

std::size_t HttpClient::Core::onBody(char* data, std::size_t size, std::size_t count, void* self) {
  auto& core = *static_cast<Core*>(self);
  Transfer& transfer = core.transfer_;
  const std::string_view bytes{data, size * count};
  const int status = core.statusSoFar();
  bool go_on = false;
  if (transfer.on_line != nullptr && status == 200) {
    go_on = core.takeLines(bytes);
  } else if (transfer.take != nullptr && status / 100 == 2) {
    go_on = core.takePiece(bytes);
  } else {
    go_on = core.keep(bytes);
  }
  core.touch();
  return go_on ? bytes.size() : CURL_WRITEFUNC_ERROR;
}

bool HttpClient::Core::keep(std::string_view bytes) {
  std::string& body = transfer_.answer.body;
  if (transfer_.take != nullptr && body.size() + bytes.size() > kMostOfARefusal) {
    body.append(bytes.substr(0, kMostOfARefusal - body.size()));
    transfer_.stopped = true;
    return false;
  }
  if (body.size() + bytes.size() > transfer_.request->max_body) {
    transfer_.why = Failure::TooLarge;
    return false;
  }
  body.append(bytes);
  return true;
}

bool HttpClient::Core::takePiece(std::string_view bytes) {
  transfer_.answer.status = statusSoFar();
  transfer_.taken += bytes.size();
  if (transfer_.taken > transfer_.request->max_body) {
    transfer_.why = Failure::TooLarge;
    return false;
  }
  transfer_.stopped = !(*transfer_.take)(transfer_.answer, bytes);
  return !transfer_.stopped;
}

std::size_t HttpClient::Core::onUpload(char* to, std::size_t size, std::size_t count, void* self) {
  auto& core = *static_cast<Core*>(self);
  Transfer& transfer = core.transfer_;
  const std::uint64_t left = transfer.request->upload->size - transfer.uploaded;
  const std::size_t room = static_cast<std::size_t>(std::min<std::uint64_t>(size * count, left));
  const std::size_t put = room == 0 ? 0 : transfer.request->upload->read(to, room);
  if (put == 0 && room > 0) {
    transfer.why = Failure::Cut;
    return CURL_READFUNC_ABORT;
  }
  transfer.uploaded += put;
  core.touch();
  return put;
}

bool HttpClient::Core::takeLines(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    if (transfer_.line.size() + part.size() > transfer_.request->max_body) {
      transfer_.why = Failure::TooLarge;
      return false;
    }
    if (end == std::string_view::npos) {
      transfer_.line.append(part);
      return true;
    }
    bytes.remove_prefix(end + 1);
    std::string_view whole = part;
    if (!transfer_.line.empty()) { whole = transfer_.line.append(part); }
    const bool go_on = whole.empty() || (*transfer_.on_line)(whole);
    transfer_.line.clear();
    if (!go_on) {
      transfer_.stopped = true;
      return false;
    }
  }
  return true;
}

HttpClient::HttpClient(Options options) {
  initialiseOnce();
  core_ = std::make_unique<Core>(std::move(options));
}

HttpClient::~HttpClient() = default;

Answer HttpClient::send(const ClientRequest& request) { return core_->run(request, nullptr, nullptr); }

Answer HttpClient::stream(const ClientRequest& request,
                          const std::function<bool(std::string_view)>& on_line) {
  return core_->run(request, &on_line, nullptr);
}

Answer HttpClient::download(const ClientRequest& request, const TakePiece& take) {
  return core_->run(request, nullptr, &take);
}

void HttpClient::cancel() { core_->cancel(); }
bool HttpClient::cancelled() const { return core_->cancelled(); }

}  // namespace gs::net
