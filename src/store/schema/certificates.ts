/**
 * Certificates: who needs one, orders under way with their challenges, what was issued, and the accounts that order.
 * Times are milliseconds since 1970; identifiers are UUIDs.
 */
export const CERTIFICATES = `
-- Who needs a certificate. zone: its store number; it may be gone. authority: '' for the default order; chosen: the one in use, ''
-- before the first choice. names, errors, refused: JSON lists. version grows when names, method or authority change.
-- renewal 1: the round under way replaces a certificate that is served.
CREATE TABLE certificate_requests (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  owner_kind TEXT NOT NULL CHECK (owner_kind IN ('hostname', 'zone', 'service')),
  owner TEXT NOT NULL,
  zone INTEGER NOT NULL,
  names TEXT NOT NULL CHECK (json_valid(names)),
  method TEXT NOT NULL CHECK (method IN ('http', 'txt')),
  authority TEXT NOT NULL,
  chosen TEXT NOT NULL DEFAULT '',
  uploaded INTEGER NOT NULL DEFAULT 0 CHECK (uploaded IN (0, 1)),
  status TEXT NOT NULL,
  renewal INTEGER NOT NULL DEFAULT 0 CHECK (renewal IN (0, 1)),
  errors TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(errors)),
  refused TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(refused)),
  failures INTEGER NOT NULL DEFAULT 0,
  version INTEGER NOT NULL DEFAULT 1,
  started_at INTEGER NOT NULL,
  next_at INTEGER,
  renew_at INTEGER,
  dropped_at INTEGER,
  validity_days INTEGER NOT NULL DEFAULT 90 CHECK (validity_days > 0)
) STRICT;
CREATE UNIQUE INDEX certificate_requests_by_owner ON certificate_requests (owner_kind, owner) WHERE dropped_at IS NULL;
CREATE INDEX certificate_requests_dropped ON certificate_requests (seq) WHERE dropped_at IS NOT NULL;
CREATE INDEX certificate_requests_by_zone ON certificate_requests (zone, owner_kind, seq);

-- One order under way for each request. version: of the request it was made for. private_key: sealed.
CREATE TABLE certificate_orders (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  request INTEGER NOT NULL UNIQUE REFERENCES certificate_requests (seq) ON DELETE CASCADE,
  version INTEGER NOT NULL,
  authority TEXT NOT NULL,
  url TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  private_key BLOB,
  csr BLOB
) STRICT;

-- value: what the TXT record or the body of the HTTP answer must be. submitted: the authority was told that it is in place.
CREATE TABLE challenges (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  order_seq INTEGER NOT NULL REFERENCES certificate_orders (seq) ON DELETE CASCADE,
  authorization_url TEXT NOT NULL,
  url TEXT NOT NULL,
  type TEXT NOT NULL CHECK (type IN ('dns-01', 'http-01')),
  identifier TEXT NOT NULL,
  wildcard INTEGER NOT NULL CHECK (wildcard IN (0, 1)),
  token TEXT NOT NULL,
  value TEXT NOT NULL,
  status TEXT NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'submitted', 'valid')),
  UNIQUE (order_seq, url)
) STRICT;
CREATE INDEX challenges_by_token ON challenges (token);

-- TXT records that our own zones serve for challenges.
CREATE TABLE challenge_records (
  zone INTEGER NOT NULL REFERENCES zones (seq) ON DELETE CASCADE,
  owner_key BLOB NOT NULL,
  challenge INTEGER NOT NULL REFERENCES challenges (seq) ON DELETE CASCADE,
  PRIMARY KEY (zone, owner_key, challenge)
) STRICT, WITHOUT ROWID;
CREATE INDEX challenge_records_by_challenge ON challenge_records (challenge);

-- chain: PEM, the certificate itself first. private_key: PKCS #8, sealed. signature: the algorithm.
CREATE TABLE certificates (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  request INTEGER NOT NULL REFERENCES certificate_requests (seq) ON DELETE CASCADE,
  authority TEXT NOT NULL,
  uploaded INTEGER NOT NULL CHECK (uploaded IN (0, 1)),
  names TEXT NOT NULL CHECK (json_valid(names)),
  chain TEXT NOT NULL,
  private_key BLOB NOT NULL,
  issuer TEXT NOT NULL,
  serial TEXT NOT NULL,
  signature TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  not_before INTEGER NOT NULL,
  not_after INTEGER NOT NULL,
  -- 1: it replaced a certificate that was served for the same names.
  renewal INTEGER NOT NULL DEFAULT 0 CHECK (renewal IN (0, 1))
) STRICT;
CREATE INDEX certificates_by_request ON certificates (request, seq);
CREATE INDEX certificates_by_expiry ON certificates (not_after);

-- The key that orders at a directory. private_key: PKCS #8, sealed.
CREATE TABLE acme_accounts (
  id TEXT PRIMARY KEY,
  directory TEXT NOT NULL UNIQUE,
  private_key BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- The secret of TLS session tickets, which all edges share. secret: sealed.
CREATE TABLE ticket_secrets (
  number INTEGER PRIMARY KEY,
  secret BLOB NOT NULL,
  made_at INTEGER NOT NULL
) STRICT;
`;
