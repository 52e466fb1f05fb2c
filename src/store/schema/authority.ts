/**
 * The built-in certificate authority: its own certificates, orders in the words of RFC 8555, and what it issued.
 * Times are milliseconds since 1970.
 */
export const AUTHORITY = `
-- The root and the intermediates; the newest of a name signs.
CREATE TABLE authority_issuers (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  name TEXT NOT NULL CHECK (name IN ('root', 'google', 'lets_encrypt', 'ssl_com', 'digicert')),
  certificate BLOB NOT NULL,
  private_key BLOB NOT NULL,
  not_after INTEGER NOT NULL
) STRICT;
CREATE INDEX authority_issuers_by_name ON authority_issuers (name, seq);

CREATE TABLE authority_orders (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  authority TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('pending', 'ready', 'valid', 'invalid')),
  names TEXT NOT NULL CHECK (json_valid(names)),
  profile TEXT NOT NULL,
  replaces TEXT,
  expires_at INTEGER NOT NULL,
  certificate TEXT,
  -- When the certificate is to end at the latest; NULL: after the authority's usual lifetime.
  not_after INTEGER
) STRICT;
CREATE INDEX authority_orders_by_expiry ON authority_orders (expires_at);
CREATE INDEX authority_orders_by_replaced ON authority_orders (replaces) WHERE replaces IS NOT NULL;

CREATE TABLE authority_authorizations (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  order_seq INTEGER NOT NULL REFERENCES authority_orders (seq) ON DELETE CASCADE,
  identifier TEXT NOT NULL,
  wildcard INTEGER NOT NULL CHECK (wildcard IN (0, 1)),
  status TEXT NOT NULL CHECK (status IN ('pending', 'valid', 'invalid'))
) STRICT;
CREATE INDEX authority_authorizations_by_order ON authority_authorizations (order_seq);

CREATE TABLE authority_challenges (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  authorization_seq INTEGER NOT NULL REFERENCES authority_authorizations (seq) ON DELETE CASCADE,
  type TEXT NOT NULL CHECK (type IN ('dns-01', 'http-01')),
  token TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('pending', 'valid', 'invalid')),
  problem TEXT CHECK (json_valid(problem))
) STRICT;
CREATE INDEX authority_challenges_by_authorization ON authority_challenges (authorization_seq);

CREATE TABLE authority_certificates (
  -- Hexadecimal digits, as the certificate has it.
  serial TEXT PRIMARY KEY,
  authority TEXT NOT NULL,
  certificate BLOB NOT NULL,
  -- PEM, the certificate itself first.
  chain TEXT NOT NULL,
  not_before INTEGER NOT NULL,
  not_after INTEGER NOT NULL,
  revoked_at INTEGER,
  revocation_reason INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX authority_certificates_by_expiry ON authority_certificates (not_after);
`;
