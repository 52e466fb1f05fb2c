/** What each account has of that what all share, kept with every change of it, and what it may have. */
import type { Migration } from './migration.js';

/** SQL that adds to what an account has of a kind. */
const add = (kind: string, account: string, count: string): string => `
  INSERT INTO account_usage (account, kind, used) SELECT ${account}, '${kind}', ${count} WHERE ${account} IS NOT NULL
  ON CONFLICT (account, kind) DO UPDATE SET used = used + excluded.used;`;

/** The same, taken away. What goes with its account is not counted any more. */
const take = (kind: string, account: string, count: string): string => `
  UPDATE account_usage SET used = used - ${count} WHERE account = ${account} AND kind = '${kind}';`;

/** Triggers and the first count of rows with a column `account`. */
const counted = (kind: string, table: string, where = '', when = (_row: 'NEW' | 'OLD') => ''): string => `
CREATE TRIGGER ${table}_counted AFTER INSERT ON ${table} ${when('NEW')} BEGIN ${add(kind, 'NEW.account', '1')}
END;
CREATE TRIGGER ${table}_uncounted AFTER DELETE ON ${table} ${when('OLD')} BEGIN ${take(kind, 'OLD.account', '1')}
END;
INSERT INTO account_usage (account, kind, used) SELECT account, '${kind}', count(*) FROM ${table} ${where} GROUP BY account
  ON CONFLICT (account, kind) DO UPDATE SET used = used + excluded.used;
`;

const BUCKET_ACCOUNT = (row: 'NEW' | 'OLD'): string => `(SELECT account FROM buckets WHERE seq = ${row}.bucket)`;
const ZONE_ACCOUNT = (row: 'NEW' | 'OLD'): string => `(SELECT account FROM zones WHERE seq = ${row}.zone)`;

export const accountUsage: Migration = {
  version: 194,
  name: 'account-usage',
  sql: `
-- Sums for each account, so that a quota costs the same however much there is.
CREATE TABLE account_usage (
  account INTEGER NOT NULL REFERENCES accounts (seq) ON DELETE CASCADE,
  kind TEXT NOT NULL,
  used INTEGER NOT NULL,
  PRIMARY KEY (account, kind)
) STRICT, WITHOUT ROWID;

-- What an account may have instead of what all may.
CREATE TABLE account_quotas (
  account INTEGER NOT NULL REFERENCES accounts (seq) ON DELETE CASCADE,
  kind TEXT NOT NULL,
  most INTEGER NOT NULL,
  PRIMARY KEY (account, kind)
) STRICT, WITHOUT ROWID;

INSERT INTO account_quotas (account, kind, most)
  SELECT account, 'hostnames', hostnames FROM hostname_allowances WHERE hostnames IS NOT NULL;
ALTER TABLE hostname_allowances DROP COLUMN hostnames;

${counted('zones', 'zones')}
CREATE TRIGGER zone_records_counted AFTER UPDATE OF record_count ON zones WHEN NEW.record_count <> OLD.record_count BEGIN
  ${add('records', 'NEW.account', 'NEW.record_count - OLD.record_count')}
END;
CREATE TRIGGER zone_records_added AFTER INSERT ON zones WHEN NEW.record_count <> 0 BEGIN
  ${add('records', 'NEW.account', 'NEW.record_count')}
END;
-- The hostnames of the zone go with it, and then their account is no longer known.
CREATE TRIGGER zone_content_uncounted BEFORE DELETE ON zones BEGIN
  ${take('records', 'OLD.account', 'OLD.record_count')}
  ${take('hostnames', 'OLD.account', '(SELECT count(*) FROM custom_hostnames WHERE zone = OLD.seq)')}
END;
INSERT INTO account_usage (account, kind, used) SELECT account, 'records', sum(record_count) FROM zones GROUP BY account;

CREATE TRIGGER custom_hostnames_counted AFTER INSERT ON custom_hostnames BEGIN ${add('hostnames', ZONE_ACCOUNT('NEW'), '1')}
END;
CREATE TRIGGER custom_hostnames_uncounted AFTER DELETE ON custom_hostnames BEGIN ${take('hostnames', ZONE_ACCOUNT('OLD'), '1')}
END;
INSERT INTO account_usage (account, kind, used)
  SELECT account, 'hostnames', count(*) FROM custom_hostnames JOIN zones ON zones.seq = custom_hostnames.zone GROUP BY account;

${counted('tokens', 'api_keys', 'WHERE account IS NOT NULL', (row) => `WHEN ${row}.account IS NOT NULL`)}
${counted('members', 'memberships')}
${['transfer_acls', 'transfer_peers', 'tsig_keys', 'catalogs', 'consumed_catalogs'].map((table) => counted('lists', table)).join('')}
${counted('buckets', 'buckets')}

CREATE TRIGGER bucket_usage_counted AFTER INSERT ON bucket_usage BEGIN
  ${add('objects', BUCKET_ACCOUNT('NEW'), 'NEW.objects')}
  ${add('octets', BUCKET_ACCOUNT('NEW'), 'NEW.payload_size + NEW.metadata_size')}
END;
CREATE TRIGGER bucket_usage_recounted AFTER UPDATE ON bucket_usage BEGIN
  ${add('objects', BUCKET_ACCOUNT('NEW'), 'NEW.objects - OLD.objects')}
  ${add('octets', BUCKET_ACCOUNT('NEW'), 'NEW.payload_size + NEW.metadata_size - OLD.payload_size - OLD.metadata_size')}
END;
INSERT INTO account_usage (account, kind, used)
  SELECT account, 'objects', sum(objects) FROM bucket_usage JOIN buckets ON buckets.seq = bucket GROUP BY account;
INSERT INTO account_usage (account, kind, used)
  SELECT account, 'octets', sum(payload_size + metadata_size) FROM bucket_usage JOIN buckets ON buckets.seq = bucket
  GROUP BY account;
`,
};
