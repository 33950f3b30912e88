// SPDX-License-Identifier: Apache-2.0
// See database.hh.
#include "service/web/database.hh"

#include <fmt/core.h>

#include "common/model/result_store.hh"

namespace nvab {
namespace {

// As many as there are threads that answer; more would only hold files open.
constexpr std::size_t kMaxIdle = 16;

Result<void> check_schema(Db& db) {
  auto query = db.prepare("SELECT max(version) FROM schema_version");
  if (!query) {
    return fail(Error::Code::unsupported,
                db.path() + " is no result database: it has no table schema_version");
  }
  const auto row = query->step();
  if (!row) return tl::unexpected(row.error());
  const auto version = static_cast<int>(query->integer(0));
  if (version == result_schema_version()) return {};
  return fail(Error::Code::unsupported,
              version < result_schema_version()
                  ? fmt::format("{} has schema {}, and pages need {}: run nvab-run once with "
                                "[output.sqlite], which "
                                "brings it forward",
                                db.path(), version, result_schema_version())
                  : fmt::format("{} has schema {}, and this nvab-web knows up to {}: install the "
                                "version of nvab-run",
                                db.path(), version, result_schema_version()));
}

}  // namespace

Database::Lease::~Lease() {
  if (!db_) return;
  const std::lock_guard lock(home_->mutex_);
  if (home_->idle_.size() < kMaxIdle) home_->idle_.push_back(std::move(db_));
}

Result<Database::Lease> Database::lease() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      auto db = std::move(idle_.back());
      idle_.pop_back();
      return Lease(*this, std::move(db));
    }
  }
  auto db = Db::open(path_, Db::Mode::read_only);
  if (!db) return tl::unexpected(db.error());
  if (auto good = check_schema(*db); !good) return tl::unexpected(good.error());
  return Lease(*this, std::make_unique<Db>(std::move(*db)));
}

}  // namespace nvab
