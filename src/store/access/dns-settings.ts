/** DNS settings of accounts: what their new zones begin with. */
import { perStore, type SqlValue, type Store } from '../driver.js';
import type { ZoneRow } from '../zones/zones.js';

/** Settings of a zone that an account gives to its new zones. */
export const ZONE_DEFAULT_COLUMNS = [
  'flatten_all_cnames',
  'foundation_dns',
  'multi_provider',
  'secondary_overrides',
  'zone_mode',
  'ns_ttl',
  'soa_mname',
  'soa_rname',
  'soa_refresh',
  'soa_retry',
  'soa_expire',
  'soa_minimum',
  'soa_ttl',
] as const satisfies readonly (keyof ZoneRow)[];

export type ZoneDefaultsRow = Pick<ZoneRow, (typeof ZONE_DEFAULT_COLUMNS)[number]>;

export interface AccountDnsSettingsRow {
  /** Whether proxied records of all zones are answered as if they were not proxied. */
  readonly enforce_dns_only: number;
  readonly zoneDefaults: ZoneDefaultsRow;
}

/** Of an account that has set nothing. */
const UNSET: AccountDnsSettingsRow = {
  enforce_dns_only: 0,
  zoneDefaults: {
    flatten_all_cnames: 0,
    foundation_dns: 0,
    multi_provider: 0,
    secondary_overrides: 0,
    zone_mode: 'standard',
    ns_ttl: null,
    soa_mname: null,
    soa_rname: null,
    soa_refresh: null,
    soa_retry: null,
    soa_expire: null,
    soa_minimum: null,
    soa_ttl: null,
  },
};

const columns = ZONE_DEFAULT_COLUMNS.join(', ');
const marks = ZONE_DEFAULT_COLUMNS.map(() => '?').join(', ');

const statements = perStore((store) => ({
  find: store.prepare<[account: number], ZoneDefaultsRow>(
    `SELECT ${columns} FROM account_dns_settings WHERE account = ?`,
  ),
  enforced: store.prepareTuples<[account: number], [enforced: number]>(
    'SELECT enforce_dns_only FROM account_dns_settings WHERE account = ?',
  ),
  put: store.prepare<SqlValue[]>(
    `INSERT OR REPLACE INTO account_dns_settings (account, enforce_dns_only, ${columns}) VALUES (?, ?, ${marks})`,
  ),
}));

export function accountDnsSettings(store: Store, account: number): AccountDnsSettingsRow {
  const { find, enforced } = statements(store);
  const zoneDefaults = find.get(account);
  return zoneDefaults ? { enforce_dns_only: enforced.get(account)![0], zoneDefaults } : UNSET;
}

/** Call inside a write. */
export function putAccountDnsSettings(
  store: Store,
  account: number,
  { enforce_dns_only: enforced, zoneDefaults }: AccountDnsSettingsRow,
): void {
  statements(store).put.run(account, enforced, ...ZONE_DEFAULT_COLUMNS.map((column) => zoneDefaults[column]));
}

/** What a new zone of the account begins with. */
export function settingsOfNewZones(store: Store, account: number): ZoneDefaultsRow & Pick<ZoneRow, 'account_dns_only'> {
  const { zoneDefaults, enforce_dns_only: dnsOnly } = accountDnsSettings(store, account);
  return { ...zoneDefaults, account_dns_only: dnsOnly };
}
