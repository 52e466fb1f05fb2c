/** What each account has of what all share, kept with every change of it, and what it may have. */

/** SQL that adds to what an account has of a kind. */
const add = (kind: string, account: string, count: string): string => `
  INSERT INTO account_usage (account, kind, used) SELECT ${account}, '${kind}', ${count} WHERE ${account} IS NOT NULL
  ON CONFLICT (account, kind) DO UPDATE SET used = used + excluded.used;`;

/** The same, taken away. What goes with its account is not counted any more. */
const take = (kind: string, account: string, count: string): string => `
  UPDATE account_usage SET used = used - ${count} WHERE account = ${account} AND kind = '${kind}';`;

/** Triggers that count the rows of a table with a column `account`. */
const counted = (kind: string, table: string, when = (_row: 'NEW' | 'OLD') => ''): string => `
CREATE TRIGGER ${table}_counted AFTER INSERT ON ${table} ${when('NEW')} BEGIN ${add(kind, 'NEW.account', '1')}
END;
CREATE TRIGGER ${table}_uncounted AFTER DELETE ON ${table} ${when('OLD')} BEGIN ${take(kind, 'OLD.account', '1')}
END;
`;

const BUCKET_ACCOUNT = (row: 'NEW' | 'OLD'): string => `(SELECT account FROM buckets WHERE seq = ${row}.bucket)`;
const ZONE_ACCOUNT = (row: 'NEW' | 'OLD'): string => `(SELECT account FROM zones WHERE seq = ${row}.zone)`;
const LISTS = ['transfer_acls', 'transfer_peers', 'tsig_keys', 'catalogs', 'consumed_catalogs'];

export const USAGE = `
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
CREATE TRIGGER custom_hostnames_counted AFTER INSERT ON custom_hostnames BEGIN ${add('hostnames', ZONE_ACCOUNT('NEW'), '1')}
END;
CREATE TRIGGER custom_hostnames_uncounted AFTER DELETE ON custom_hostnames BEGIN ${take('hostnames', ZONE_ACCOUNT('OLD'), '1')}
END;
${counted('tokens', 'api_keys', (row) => `WHEN ${row}.account IS NOT NULL`)}
${counted('members', 'memberships')}
${LISTS.map((table) => counted('lists', table)).join('')}
${counted('buckets', 'buckets')}
CREATE TRIGGER bucket_usage_counted AFTER INSERT ON bucket_usage BEGIN
  ${add('objects', BUCKET_ACCOUNT('NEW'), 'NEW.objects')}
  ${add('octets', BUCKET_ACCOUNT('NEW'), 'NEW.payload_size + NEW.metadata_size')}
END;
CREATE TRIGGER bucket_usage_recounted AFTER UPDATE ON bucket_usage BEGIN
  ${add('objects', BUCKET_ACCOUNT('NEW'), 'NEW.objects - OLD.objects')}
  ${add('octets', BUCKET_ACCOUNT('NEW'), 'NEW.payload_size + NEW.metadata_size - OLD.payload_size - OLD.metadata_size')}
END;
`;
