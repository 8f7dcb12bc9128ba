-- The tables of a class's database (docs/class.md). A database runs the versions that it lacks, in
-- order. Never change a released one: add another.

-- version 1
CREATE TABLE student (
  id      INTEGER PRIMARY KEY,
  name    TEXT NOT NULL UNIQUE,
  alias   TEXT NOT NULL UNIQUE,
  number  TEXT NOT NULL DEFAULT '',
  login   TEXT NOT NULL DEFAULT '',
  email   TEXT NOT NULL DEFAULT '',
  section TEXT NOT NULL DEFAULT '',
  canvas  TEXT NOT NULL DEFAULT ''
);
CREATE TABLE submission (
  id        INTEGER PRIMARY KEY,
  student   INTEGER NOT NULL REFERENCES student(id),
  milestone TEXT NOT NULL,
  digest    TEXT NOT NULL,
  place     TEXT NOT NULL,
  received  TEXT NOT NULL,
  state     TEXT NOT NULL DEFAULT 'waiting',
  sentence  TEXT NOT NULL DEFAULT '',
  finding   TEXT NOT NULL DEFAULT '',
  passed    INTEGER NOT NULL DEFAULT 0,
  earned    REAL NOT NULL DEFAULT 0,
  counted   REAL NOT NULL DEFAULT 0,
  total     REAL NOT NULL DEFAULT 0,
  seconds   REAL NOT NULL DEFAULT 0,
  UNIQUE (student, milestone, digest)
);
CREATE TABLE result (
  submission INTEGER PRIMARY KEY REFERENCES submission(id),
  json       BLOB NOT NULL
);
CREATE TABLE speed (
  submission   INTEGER NOT NULL REFERENCES submission(id),
  stage        TEXT NOT NULL,
  batch        INTEGER NOT NULL,
  yours_ms     REAL NOT NULL,
  reference_ms REAL NOT NULL,
  floor_ms     REAL NOT NULL,
  speed        REAL NOT NULL,
  PRIMARY KEY (submission, stage, batch)
) WITHOUT ROWID;

-- version 2: lists go through the students by name, and for each through this, and need not sort
CREATE INDEX submission_order ON submission (student, milestone, received);
CREATE INDEX submission_milestone ON submission (milestone, state, passed);

-- version 3: a term: rules, outcomes that were replaced, what was found out later, words of a human
ALTER TABLE submission ADD COLUMN rules TEXT NOT NULL DEFAULT '';
ALTER TABLE speed ADD COLUMN precision TEXT NOT NULL DEFAULT '';
CREATE TABLE term (
  one  INTEGER PRIMARY KEY CHECK (one = 1),
  json TEXT NOT NULL
);
CREATE TABLE earlier (
  id         INTEGER PRIMARY KEY,
  submission INTEGER NOT NULL REFERENCES submission(id),
  replaced   TEXT NOT NULL,
  rules      TEXT NOT NULL,
  state      TEXT NOT NULL,
  sentence   TEXT NOT NULL,
  finding    TEXT NOT NULL,
  passed     INTEGER NOT NULL,
  earned     REAL NOT NULL,
  counted    REAL NOT NULL,
  total      REAL NOT NULL,
  json       BLOB
);
CREATE TABLE revocation (
  id         INTEGER PRIMARY KEY,
  submission INTEGER NOT NULL REFERENCES submission(id),
  reason     TEXT NOT NULL,
  evidence   TEXT NOT NULL,
  revoked    TEXT NOT NULL,
  restored   TEXT NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX revocation_open ON revocation (submission) WHERE restored = '';
CREATE TABLE comment (
  id         INTEGER PRIMARY KEY,
  milestone  TEXT NOT NULL,
  finding    TEXT NOT NULL,
  place      TEXT NOT NULL,
  submission INTEGER NOT NULL,
  text       TEXT NOT NULL,
  for_staff  INTEGER NOT NULL,
  written    TEXT NOT NULL
);

-- version 4: what students noted; each archive holds all that its student noted until then
CREATE TABLE hint (
  student   INTEGER NOT NULL REFERENCES student(id),
  milestone TEXT NOT NULL,
  list      TEXT NOT NULL,
  number    INTEGER NOT NULL,
  finding   TEXT NOT NULL,
  helped    INTEGER NOT NULL,
  PRIMARY KEY (student, milestone, list, number)
) WITHOUT ROWID;
CREATE TABLE prediction (
  student        INTEGER NOT NULL REFERENCES student(id),
  milestone      TEXT NOT NULL,
  stage          TEXT NOT NULL,
  limiter        TEXT NOT NULL,
  loads          REAL NOT NULL,
  inputs         REAL NOT NULL,
  op_ms          REAL NOT NULL,
  counted_loads  REAL NOT NULL,
  counted_inputs REAL NOT NULL,
  PRIMARY KEY (student, milestone, stage)
) WITHOUT ROWID;

-- version 5: the glossary's word
ALTER TABLE speed RENAME COLUMN floor_ms TO bound_ms;
