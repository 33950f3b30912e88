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

struct Receiver {
  HttpAnswer* answer;
  std::size_t limit;
};

std::size_t on_body(char* bytes, std::size_t size, std::size_t count, void* user) noexcept {
  auto& receiver = *static_cast<Receiver*>(user);
  const std::size_t more = size * count;
  if (receiver.answer->body.size() + more > receiver.limit) return 0;
  try {
    receiver.answer->body.append(bytes, more);
  } catch (...) {
    return 0;  // libcurl ends the transfer
  }
  return more;
}

std::size_t on_header(char* bytes, std::size_t size, std::size_t count, void* user) noexcept {
  constexpr std::string_view kRetryAfter = "retry-after:";
  try {
    const std::string_view line(bytes, size * count);
    if (starts_with_nocase(line, kRetryAfter)) {
      static_cast<Receiver*>(user)->answer->retry_after = trim(line.substr(kRetryAfter.size()));
    }
  } catch (...) {
    return 0;
  }
  return size * count;
}

Error::Code code_of(CURLcode status) {
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
    default:
      return Error::Code::unavailable;
  }
}

}  // namespace

struct HttpClient::Impl {
  HttpOptions options;
  CURL* handle = nullptr;
  ~Impl() {
    if (handle != nullptr) curl().cleanup(handle);
  }
  void prepare(const HttpRequest& request, curl_slist* headers, Receiver* receiver,
               long timeout_ms) const;
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

void HttpClient::Impl::prepare(const HttpRequest& request, curl_slist* headers, Receiver* receiver,
                               long timeout_ms) const {
  const auto set = curl().setopt;
  curl().reset(handle);  // keeps its connections
  set(handle, CURLOPT_URL, request.url.c_str());
  // Nothing else may be asked for, whatever a setting says: no files, no other protocols.
  set(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  set(handle, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  set(handle, CURLOPT_HTTPHEADER, headers);
  set(handle, CURLOPT_NOSIGNAL, 1L);
  set(handle, CURLOPT_TIMEOUT_MS, timeout_ms);
  set(handle, CURLOPT_WRITEFUNCTION, on_body);
  set(handle, CURLOPT_WRITEDATA, receiver);
  set(handle, CURLOPT_HEADERFUNCTION, on_header);
  set(handle, CURLOPT_HEADERDATA, receiver);
  if (!request.body.empty()) {
    set(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    set(handle, CURLOPT_POSTFIELDS, request.body.c_str());
  }
  const auto set_path = [&](CURLoption option, const std::string& path) {
    if (!path.empty()) set(handle, option, path.c_str());
  };
  set_path(CURLOPT_UNIX_SOCKET_PATH, options.unix_socket);
  set_path(CURLOPT_CAINFO, options.ca_file);
  set_path(CURLOPT_SSLCERT, options.client_certificate);
  set_path(CURLOPT_SSLKEY, options.client_key);
}

Result<HttpAnswer> HttpClient::send(const HttpRequest& request, Deadline deadline) {
  const std::string doing = request.method + " " + request.url;
  const Duration left = std::min(deadline.left(), impl_->options.timeout);
  const auto timeout_ms = std::chrono::duration_cast<std::chrono::milliseconds>(left).count();
  if (timeout_ms <= 0) return fail(Error::Code::timeout, doing + ": the time was over");
  HttpAnswer answer;
  Receiver receiver{&answer, impl_->options.max_answer};
  curl_slist* headers = nullptr;
  // "Expect:" off: waiting for leave to send costs a second with servers that do not give it.
  headers = curl().append(headers, "Expect:");
  for (const std::string& header : request.headers) {
    headers = curl().append(headers, header.c_str());
  }
  impl_->prepare(request, headers, &receiver, static_cast<long>(timeout_ms));
  const CURLcode status = curl().perform(impl_->handle);
  curl().free_all(headers);
  if (status != CURLE_OK) {
    return fail(code_of(status), doing + ": " + curl().strerror(status));
  }
  long code = 0;
  curl().getinfo(impl_->handle, CURLINFO_RESPONSE_CODE, &code);
  answer.status = static_cast<int>(code);
  return answer;
}

}  // namespace nvab
