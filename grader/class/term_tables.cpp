// What the database of a class keeps of a term: rules, replaced outcomes, revocations, comments,
// what students noted.
#include <algorithm>
#include <ctime>

#include "common/base/words.hpp"
#include "grader/class/database.hpp"
#include "grader/class/term.hpp"

namespace convlab::grader {

namespace {

std::string now() {
  return utc_text(std::time(nullptr));
}

}  // namespace

std::vector<EarlierOutcome> ClassDatabase::earlier_outcomes() const {
  const std::lock_guard lock(mutex_);
  SqliteQuery query(*sqlite_,
                    "SELECT submission, replaced, rules, finding, earned FROM earlier ORDER BY id");
  std::vector<EarlierOutcome> all;
  while (query.step()) {
    EarlierOutcome& row = all.emplace_back();
    query.read(row.submission, row.replaced, row.rules, row.finding, row.earned);
  }
  return all;
}

void ClassDatabase::set_sentence(std::int64_t submission, const std::string& sentence) {
  const std::lock_guard lock(mutex_);
  SqliteQuery update(*sqlite_, "UPDATE submission SET sentence = ? WHERE id = ?");
  update.bind(sentence).bind(submission).step();
}

int ClassDatabase::attempts_in_hour_before(std::int64_t submission) const {
  const std::lock_guard lock(mutex_);
  SqliteQuery query(
      *sqlite_,
      "SELECT count(*) FROM submission s JOIN submission e ON e.student = s.student AND "
      "e.milestone = s.milestone WHERE s.id = ? AND (e.received, e.id) < (s.received, s.id) AND "
      "e.received > strftime('%Y-%m-%dT%H:%M:%SZ', s.received, '-1 hour')");
  query.bind(submission).step();
  return static_cast<int>(query.integer(0));
}

std::string ClassDatabase::term_text() const {
  const std::lock_guard lock(mutex_);
  SqliteQuery query(*sqlite_, "SELECT json FROM term");
  return query.step() ? query.text(0) : std::string();
}

void ClassDatabase::set_term_text(const std::string& text) {
  const std::lock_guard lock(mutex_);
  SqliteQuery replace(*sqlite_, "INSERT OR REPLACE INTO term VALUES (1, ?)");
  replace.bind(text).step();
}

void ClassDatabase::revoke(std::int64_t submission, const std::string& reason,
                           const std::string& evidence) {
  const std::lock_guard lock(mutex_);
  SqliteQuery insert(
      *sqlite_,
      "INSERT INTO revocation (submission, reason, evidence, revoked) VALUES (?, ?, ?, ?)");
  insert.bind(submission).bind(reason).bind(evidence).bind(now()).step();
}

bool ClassDatabase::restore(std::int64_t submission) {
  const std::lock_guard lock(mutex_);
  SqliteQuery update(*sqlite_,
                     "UPDATE revocation SET restored = ? WHERE submission = ? AND restored = ''");
  update.bind(now()).bind(submission).step();
  return sqlite_->number("SELECT changes()") > 0;
}

std::vector<Revocation> ClassDatabase::revocations() const {
  const std::lock_guard lock(mutex_);
  SqliteQuery query(*sqlite_,
                    "SELECT submission, reason, evidence, revoked, restored FROM revocation "
                    "ORDER BY id");
  std::vector<Revocation> all;
  while (query.step()) {
    Revocation& row = all.emplace_back();
    query.read(row.submission, row.reason, row.evidence, row.revoked, row.restored);
  }
  return all;
}

void ClassDatabase::add_comment(const Comment& comment) {
  const std::lock_guard lock(mutex_);
  SqliteQuery insert(*sqlite_,
                     "INSERT INTO comment (milestone, finding, place, submission, text, for_staff, "
                     "written) VALUES (?, ?, ?, ?, ?, ?, ?)");
  insert.bind(comment.milestone).bind(comment.finding).bind(comment.place);
  insert.bind(comment.submission).bind(comment.text);
  insert.bind(static_cast<std::int64_t>(comment.for_staff)).bind(now()).step();
}

bool ClassDatabase::remove_comment(std::int64_t id) {
  const std::lock_guard lock(mutex_);
  SqliteQuery(*sqlite_, "DELETE FROM comment WHERE id = ?").bind(id).step();
  return sqlite_->number("SELECT changes()") > 0;
}

std::vector<Comment> ClassDatabase::comments(const SubmissionRow& row) const {
  std::vector<Comment> own;
  {
    const std::lock_guard lock(mutex_);
    SqliteQuery query(*sqlite_,
                      "SELECT id, milestone, finding, place, submission, text, for_staff, written "
                      "FROM comment WHERE submission = ?1 OR (finding <> '' AND milestone = ?2) "
                      "ORDER BY id");
    query.bind(row.id).bind(row.milestone);
    while (query.step()) {
      Comment& each = own.emplace_back();
      query.read(each.id, each.milestone, each.finding, each.place, each.submission, each.text,
                 each.for_staff, each.written);
    }
  }
  if (own.empty()) return own;
  const std::optional<CheckResult> check = result(row.id);
  std::erase_if(own, [&](const Comment& each) {
    if (each.finding.empty()) return false;
    return !check || std::ranges::none_of(check->findings, [&](const Finding& found) {
      // Line 4 is not line 41.
      return found.id == each.finding &&
             (each.place.empty() || find_word(found.seen, each.place) != std::string::npos);
    });
  });
  return own;
}

void ClassDatabase::keep_notes(std::int64_t student, const std::string& milestone,
                               const StudentNotes& notes) {
  if (notes.hints.empty() && notes.predictions.empty()) return;
  const std::lock_guard lock(mutex_);
  SqliteTransaction transaction(*sqlite_);
  // Archives come in any order: one that was packed before the next check does not know yet whether
  // a hint helped.
  SqliteQuery hint(*sqlite_,
                   "INSERT INTO hint VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
                   "helped = max(helped, excluded.helped)");
  for (const HintRow& row : notes.hints) {
    hint.reset();
    hint.bind(student).bind(milestone).bind(row.list).bind(static_cast<std::int64_t>(row.number));
    hint.bind(row.finding).bind(static_cast<std::int64_t>(row.helped)).step();
  }
  SqliteQuery prediction(*sqlite_,
                         "INSERT INTO prediction VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) "
                         "ON CONFLICT DO UPDATE SET "
                         "counted_loads = max(counted_loads, excluded.counted_loads), "
                         "counted_inputs = max(counted_inputs, excluded.counted_inputs)");
  for (const PredictionRow& row : notes.predictions) {
    prediction.reset();
    prediction.bind(student).bind(milestone).bind(row.stage).bind(row.limiter).bind(row.loads);
    prediction.bind(row.inputs).bind(row.op_ms).bind(row.counted_loads).bind(row.counted_inputs);
    prediction.step();
  }
  transaction.commit();
}

StudentNotes ClassDatabase::notes() const {
  const std::lock_guard lock(mutex_);
  StudentNotes notes;
  SqliteQuery hints(*sqlite_,
                    "SELECT t.name, h.milestone, h.list, h.number, h.finding, h.helped FROM hint h "
                    "JOIN student t ON t.id = h.student ORDER BY h.milestone, h.list, h.number");
  while (hints.step()) {
    HintRow& row = notes.hints.emplace_back();
    hints.read(row.student, row.milestone, row.list, row.number, row.finding, row.helped);
  }
  SqliteQuery predictions(*sqlite_,
                          "SELECT t.name, p.milestone, p.stage, p.limiter, p.loads, p.inputs, "
                          "p.op_ms, p.counted_loads, p.counted_inputs FROM prediction p JOIN "
                          "student t ON t.id = p.student ORDER BY p.milestone, p.stage");
  while (predictions.step()) {
    PredictionRow& row = notes.predictions.emplace_back();
    predictions.read(row.student, row.milestone, row.stage, row.limiter, row.loads, row.inputs,
                     row.op_ms, row.counted_loads, row.counted_inputs);
  }
  return notes;
}

}  // namespace convlab::grader
