/** The databases of PowerDNS in SQLite, which are only read: zones with their records, metadata and keys. */
import Database from 'better-sqlite3';
import { messageOf } from '../../base/errors.js';
import { faultAt, type Place } from '../place.js';

export interface DomainRow {
  readonly id: number;
  readonly name: string;
  readonly type: string;
  readonly master: string | null;
}

export interface RecordRow {
  readonly name: string;
  readonly type: string | null;
  readonly ttl: number | null;
  readonly prio: number | null;
  readonly content: string | null;
}

export interface MetadataRow {
  readonly kind: string;
  readonly content: string;
}

export interface CryptoKeyRow {
  readonly flags: number;
  readonly content: string;
}

export interface TsigKeyRow {
  readonly name: string;
  readonly algorithm: string;
  readonly secret: string;
}

export interface PowerDnsDatabase {
  tsigKeys(): readonly TsigKeyRow[];
  /** Without records in a database that only accompanies zone files. */
  domains(): readonly DomainRow[];
  records(domain: DomainRow): readonly RecordRow[];
  metadata(domain: Pick<DomainRow, 'name'>): readonly MetadataRow[];
  /** Those with which it signs. */
  cryptoKeys(domain: Pick<DomainRow, 'name'>): readonly CryptoKeyRow[];
  close(): void;
}

/** `kind`: of the backend gsqlite3, or of `bind-dnssec-db`. Throws a UserError. */
export function openDatabase(file: string, kind: 'zones' | 'companion', place: Place): PowerDnsDatabase {
  const guarded = <Value>(work: () => Value): Value => {
    try {
      return work();
    } catch (error) {
      throw faultAt(place, `the database ${file} cannot be read: ${messageOf(error)}`);
    }
  };
  const database = guarded(() => new Database(file, { readonly: true, fileMustExist: true }));
  const all = <Row>(sql: string, ...values: readonly (string | number)[]): Row[] =>
    guarded(() => database.prepare(sql).all(...values) as Row[]);
  const ofDomain = kind === 'zones' ? 'domain_id = (SELECT id FROM domains WHERE name = ?)' : 'domain = ?';
  return {
    tsigKeys: () => all('SELECT name, algorithm, secret FROM tsigkeys ORDER BY name'),
    domains: () => (kind === 'zones' ? all('SELECT id, name, type, master FROM domains ORDER BY name') : []),
    records: ({ id }) =>
      all(
        'SELECT name, type, ttl, prio, content FROM records WHERE domain_id = ? AND NOT COALESCE(disabled, 0) ORDER BY id',
        id,
      ),
    metadata: ({ name }) => all(`SELECT kind, content FROM domainmetadata WHERE ${ofDomain} ORDER BY rowid`, name),
    cryptoKeys: ({ name }) =>
      all(`SELECT flags, content FROM cryptokeys WHERE ${ofDomain} AND active ORDER BY rowid`, name),
    close: () => void database.close(),
  };
}
