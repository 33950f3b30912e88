// SPDX-License-Identifier: Apache-2.0
// See http.hh. The only user of libcurl: its functions are looked up by name, so that the linker
// makes nobody depend on it.
#include "common/base/http.hh"

#include <curl/curl.h>
#include <dlfcn.h>

#include <algorithm>
#include <mutex>

#include "common/base/text.hh"

namespace nvab {
namespace {

struct Curl {
  decltype(&curl_global_init) global_init = nullptr;
  decltype(&curl_easy_init) init = nullptr;
  decltype(&curl_easy_reset) reset = nullptr;
  decltype(&curl_easy_setopt) setopt = nullptr;
  decltype(&curl_easy_perform) perform = nullptr;
  decltype(&curl_easy_getinfo) getinfo = nullptr;
  decltype(&curl_easy_cleanup) cleanup = nullptr;
  decltype(&curl_easy_strerror) strerror = nullptr;
  decltype(&curl_slist_append) append = nullptr;
  decltype(&curl_slist_free_all) free_all = nullptr;
  bool is_loaded = false;
};

template <typename F>
bool find(void* library, const char* name, F* function) {
  *function = reinterpret_cast<F>(::dlsym(library, name));
  return *function != nullptr;
}

Curl load_curl() {
  Curl curl;
  void* library = nullptr;
  for (const char* name : {"libcurl.so.4", "libcurl-gnutls.so.4"}) {
    if (library == nullptr) library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  if (library == nullptr) return curl;
  curl.is_loaded = find(library, "curl_global_init", &curl.global_init) &&
                   find(library, "curl_easy_init", &curl.init) &&
                   find(library, "curl_easy_reset", &curl.reset) &&
                   find(library, "curl_easy_setopt", &curl.setopt) &&
                   find(library, "curl_easy_perform", &curl.perform) &&
                   find(library, "curl_easy_getinfo", &curl.getinfo) &&
                   find(library, "curl_easy_cleanup", &curl.cleanup) &&
                   find(library, "curl_easy_strerror", &curl.strerror) &&
                   find(library, "curl_slist_append", &curl.append) &&
                   find(library, "curl_slist_free_all", &curl.free_all) &&
                   curl.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  return curl;
}

// Loaded once, and for the life of the process.
const Curl& curl() {
  static const Curl loaded = load_curl();
  return loaded;
}

// Where the pieces of an answer go.
struct Receiver {
  const HttpRequest& request;
  HttpAnswer* answer;
  std::size_t limit;
  CURL* handle;
  bool is_too_large = false;

  bool take(std::string_view piece);
};

bool Receiver::take(std::string_view piece) {
  answer->bytes += piece.size();
  is_too_large = answer->bytes > limit;
  if (is_too_large) return false;
  long status = 0;
  curl().getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
  if (!request.on_body || status < 200 || status > 299) {
    answer->body.append(piece);
    return true;
  }
  answer->was_stopped = !request.on_body(piece);
  return !answer->was_stopped;
}

std::size_t on_body(char* bytes, std::size_t size, std::size_t count, void* user) noexcept {
  try {
    return static_cast<Receiver*>(user)->take({bytes, size * count}) ? size * count : 0;
  } catch (...) {
    return 0;  // libcurl ends the transfer
  }
}

std::size_t on_header(char* bytes, std::size_t size, std::size_t count, void* user) noexcept {
  try {
    const std::string_view line(bytes, size * count);
    HttpAnswer& answer = *static_cast<Receiver*>(user)->answer;
    const auto keep = [&](std::string_view name, std::string* value) {
      if (starts_with_nocase(line, name)) *value = trim(line.substr(name.size()));
    };
    keep("retry-after:", &answer.retry_after);
    keep("content-type:", &answer.content_type);
  } catch (...) {
    return 0;
  }
  return size * count;
}

// "tlsv13 alert certificate required", "alert unknown ca": the server's no to our certificate.
bool refuses_us(std::string_view words) {
  return words.find("alert") != std::string_view::npos &&
         (words.find("certificate") != std::string_view::npos ||
          words.find("unknown ca") != std::string_view::npos ||
          words.find("access denied") != std::string_view::npos);
}

Error::Code code_of(CURLcode status, std::string_view words) {
  switch (status) {
    case CURLE_OPERATION_TIMEDOUT:
      return Error::Code::timeout;
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
      return Error::Code::malformed;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
      return Error::Code::permission;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
      return refuses_us(words) ? Error::Code::permission : Error::Code::unavailable;
    default:
      return Error::Code::unavailable;
  }
}

// A redirect that asks for the same again elsewhere. After the others a POST would become a GET.
bool is_followed(int status, std::string_view method) {
  if (status == 307 || status == 308) return true;
  return method == "GET" && (status == 301 || status == 302 || status == 303);
}

// How much of a URL is scheme, host and port.
std::size_t origin_length(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return 0;
  return std::min(url.find_first_of("/?#", scheme + 3), url.size());
}

long tls_version(std::string_view word) {
  return word == "1.3" ? CURL_SSLVERSION_TLSv1_3 : CURL_SSLVERSION_TLSv1_2;
}

long milliseconds(Duration duration) {
  return static_cast<long>(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}

// Server after server that sends us on is a circle.
constexpr int kMaxRedirects = 5;

class Headers {
 public:
  Headers() = default;
  Headers(const Headers&) = delete;
  Headers& operator=(const Headers&) = delete;
  ~Headers() { curl().free_all(list_); }
  void add(const std::string& line) { list_ = curl().append(list_, line.c_str()); }
  curl_slist* get() const { return list_; }

 private:
  curl_slist* list_ = nullptr;
};

}  // namespace

struct HttpClient::Impl {
  HttpOptions options;
  CURL* handle = nullptr;
  ~Impl() {
    if (handle != nullptr) curl().cleanup(handle);
  }
  bool carries_credentials(const HttpRequest& request) const {
    return !request.secret_headers.empty() || !options.client_certificate.empty();
  }
  void prepare_tls() const;
  void prepare_route(const std::string& url, Headers* connect_to) const;
  void prepare(const HttpRequest& request, const Headers& headers, Receiver* receiver) const;
  // One request to one place; `next` is set where the answer sends us on.
  Result<HttpAnswer> send_once(const HttpRequest& request, const std::string& url,
                               Deadline deadline, std::string* next);
};

HttpClient::HttpClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient& HttpClient::operator=(HttpClient&&) noexcept = default;
HttpClient::~HttpClient() = default;

Result<HttpClient> HttpClient::create(HttpOptions options) {
  if (!curl().is_loaded) {
    return fail(Error::Code::unavailable,
                "making HTTP requests: libcurl.so.4 is not on this machine (Debian: libcurl4)");
  }
  auto impl = std::make_unique<Impl>();
  impl->options = std::move(options);
  impl->handle = curl().init();
  if (impl->handle == nullptr) {
    return fail(Error::Code::internal, "making HTTP requests: libcurl has no handle for us");
  }
  return HttpClient(std::move(impl));
}

void HttpClient::Impl::prepare_tls() const {
  const auto set_path = [&](CURLoption option, const std::string& path) {
    if (!path.empty()) curl().setopt(handle, option, path.c_str());
  };
  set_path(CURLOPT_CAINFO, options.ca_file);
  set_path(CURLOPT_SSLCERT, options.client_certificate);
  set_path(CURLOPT_SSLKEY, options.client_key);
  if (!options.tls_minimum.empty()) {
    curl().setopt(handle, CURLOPT_SSLVERSION, tls_version(options.tls_minimum));
  }
}

void HttpClient::Impl::prepare_route(const std::string& url, Headers* connect_to) const {
  const auto set = curl().setopt;
  set(handle, CURLOPT_URL, url.c_str());
  if (!options.unix_socket.empty()) {
    set(handle, CURLOPT_UNIX_SOCKET_PATH, options.unix_socket.c_str());
  }
  if (options.proxy == "none") {
    set(handle, CURLOPT_PROXY, "");
  } else if (!options.proxy.empty()) {
    set(handle, CURLOPT_PROXY, options.proxy.c_str());
  }
  if (!options.proxy_login.empty()) {
    set(handle, CURLOPT_PROXYUSERPWD, options.proxy_login.c_str());
  }
  const std::string origin = url_origin(url);
  if (options.server_name.empty() || !origin.starts_with("https://")) return;
  // The URL names the certificate's host; the connection goes where the URL went.
  constexpr std::size_t kScheme = std::string_view("https://").size();
  const std::string place = origin.substr(kScheme);
  const std::string port = place.substr(place.rfind(':'));
  connect_to->add(options.server_name + port + ":" + place);
  set(handle, CURLOPT_CONNECT_TO, connect_to->get());
  const std::size_t path = std::min(url.find_first_of("/?#", kScheme), url.size());
  set(handle, CURLOPT_URL, ("https://" + options.server_name + port + url.substr(path)).c_str());
}

void HttpClient::Impl::prepare(const HttpRequest& request, const Headers& headers,
                               Receiver* receiver) const {
  const auto set = curl().setopt;
  // Nothing else may be asked for, whatever a setting says: no files, no other protocols.
  set(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  set(handle, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
  set(handle, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  set(handle, CURLOPT_HTTPHEADER, headers.get());
  set(handle, CURLOPT_ACCEPT_ENCODING, "gzip");
  set(handle, CURLOPT_NOSIGNAL, 1L);
  set(handle, CURLOPT_CONNECTTIMEOUT_MS, milliseconds(options.connect_timeout));
  set(handle, CURLOPT_WRITEFUNCTION, on_body);
  set(handle, CURLOPT_WRITEDATA, receiver);
  set(handle, CURLOPT_HEADERFUNCTION, on_header);
  set(handle, CURLOPT_HEADERDATA, receiver);
  if (!request.body.empty()) {
    set(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    set(handle, CURLOPT_POSTFIELDS, request.body.c_str());
  }
}

Result<HttpAnswer> HttpClient::Impl::send_once(const HttpRequest& request, const std::string& url,
                                               Deadline deadline, std::string* next) {
  const std::string doing = request.method + " " + std::string(url_shown(url));
  const long timeout_ms = milliseconds(std::min(deadline.left(), options.timeout));
  if (timeout_ms <= 0) return fail(Error::Code::timeout, doing + ": the time was over");
  HttpAnswer answer;
  Receiver receiver{request, &answer, options.max_answer, handle};
  Headers headers, connect_to;
  // "Expect:" off: waiting for leave to send costs a second with servers that do not give it.
  headers.add("Expect:");
  for (const std::string& header : request.headers) headers.add(header);
  for (const std::string& header : request.secret_headers) headers.add(header);
  char words[CURL_ERROR_SIZE] = "";
  curl().reset(handle);  // keeps its connections
  prepare_route(url, &connect_to);
  prepare_tls();
  prepare(request, headers, &receiver);
  curl().setopt(handle, CURLOPT_TIMEOUT_MS, timeout_ms);
  curl().setopt(handle, CURLOPT_ERRORBUFFER, words);
  const CURLcode status = curl().perform(handle);
  curl().setopt(handle, CURLOPT_ERRORBUFFER, nullptr);
  if (receiver.is_too_large) {
    return fail(Error::Code::unavailable, doing + ": the answer has more than " +
                                              std::to_string(options.max_answer) + " bytes");
  }
  if (status != CURLE_OK && !answer.was_stopped) {
    const std::string reason = words[0] != '\0' ? words : curl().strerror(status);
    return fail(code_of(status, reason), doing + ": " + reason);
  }
  long code = 0;
  const char* location = nullptr;
  curl().getinfo(handle, CURLINFO_RESPONSE_CODE, &code);
  curl().getinfo(handle, CURLINFO_REDIRECT_URL, &location);
  answer.status = static_cast<int>(code);
  if (location != nullptr && is_followed(answer.status, request.method)) *next = location;
  return answer;
}

Result<HttpAnswer> HttpClient::send(const HttpRequest& request, Deadline deadline) {
  deadline = deadline.earlier(Deadline::after(impl_->options.timeout));
  std::string url = request.url;
  std::string home = url_origin(url);
  // Relative redirects come back with the name that we asked by.
  const std::string& name = impl_->options.server_name;
  const std::string alias =
      name.empty() || home.empty() ? home : "https://" + lower(name) + home.substr(home.rfind(':'));
  for (int hop = 0; hop <= kMaxRedirects; ++hop) {
    std::string next;
    auto answer = impl_->send_once(request, url, deadline, &next);
    if (!answer || next.empty()) return answer;
    const std::string to = url_origin(next);
    const bool is_home = to == home || to == alias;
    if (!is_home && impl_->carries_credentials(request)) {
      return fail(Error::Code::permission,
                  request.method + " " + std::string(url_shown(url)) + ": it redirects to " +
                      excerpt(sanitize(to.empty() ? "no http address" : to), 200) +
                      ", where credentials are not taken; set the URL that is meant");
    }
    if (is_home) next.replace(0, origin_length(next), request.url, 0, origin_length(request.url));
    url = std::move(next);
  }
  return fail(Error::Code::unavailable, request.method + " " + std::string(url_shown(request.url)) +
                                            ": it redirects again and again");
}

std::string url_origin(std::string_view url) {
  const std::string_view shown = url.substr(0, origin_length(url));
  const std::size_t scheme = shown.find("://");
  if (scheme == std::string_view::npos || shown.find_first_of("@ \\") != std::string_view::npos) {
    return "";
  }
  std::string origin = lower(shown);
  const bool is_tls = origin.starts_with("https://");
  if ((!is_tls && !origin.starts_with("http://")) || origin.size() == scheme + 3) return "";
  const std::size_t colon = origin.rfind(':');
  const std::size_t bracket = origin.rfind(']');
  const bool has_port = colon > scheme && (bracket == std::string::npos || colon > bracket);
  return has_port ? origin : origin + (is_tls ? ":443" : ":80");
}

std::string url_escape(std::string_view text) {
  constexpr char kHex[] = "0123456789ABCDEF";
  constexpr std::string_view kPlain = "-._~";
  std::string out;
  out.reserve(text.size() * 3 / 2);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || kPlain.find(c) != std::string_view::npos;
    if (is_plain) {
      out += c;
    } else {
      out += '%';
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  return out;
}

std::string_view url_shown(std::string_view url) { return url.substr(0, url.find_first_of("?#")); }

}  // namespace nvab
