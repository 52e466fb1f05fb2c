/** Load balancers of zones: names for which origins of pools are chosen. */
import { allRows, column, columns, hasRow, insertion, oneRow, type RowOf, runs, theValue } from '../columns.js';
import { perStore, type SqlValue, type Store } from '../driver.js';

const BALANCER = columns({
  id: column<Uint8Array>(),
  /** Store numbers of the zone and of its account. */
  zone: column<number>(),
  account: column<number>(),
  /** Relative to the apex, see dns/name.ts. */
  owner_key: column<Uint8Array>(),
  /** Lower-case ASCII, without the final dot; a wildcard begins with `*.` */
  name: column<string>(),
  enabled: column<number>(),
  proxied: column<number>(),
  /** JSON: what its owner wrote (balancing/load-balancer.ts). */
  settings: column<string>(),
  /** Microseconds since 1970. */
  created_at: column<number>(),
  modified_at: column<number>(),
});

export interface LoadBalancerRow extends RowOf<typeof BALANCER> {
  readonly seq: number;
}

/** The pools that a load balancer refers to, and the origins of all of them. */
export interface BalancerSize {
  readonly pools: number;
  readonly origins: number;
}

const VALUES = BALANCER.only('owner_key', 'name', 'enabled', 'proxied', 'settings');

export type LoadBalancerValues = RowOf<typeof VALUES>;

const statements = perStore((store) => ({
  size: store.prepare<[balancer: number], BalancerSize>(
    `SELECT count(*) AS pools, coalesce(sum(json_array_length(settings, '$.origins')), 0) AS origins FROM load_balancer_pools JOIN pools ON pools.seq = pool
     WHERE load_balancer = ?`,
  ),
  proxied: store.prepareTuples<[zone: number, limit: number], [ownerKey: Uint8Array]>(
    'SELECT owner_key FROM load_balancers WHERE zone = ? AND proxied = 1 AND enabled = 1 ORDER BY owner_key LIMIT ?',
  ),
  setSettings: store.prepare<[settings: string, seq: number]>('UPDATE load_balancers SET settings = ? WHERE seq = ?'),
  insert: store.prepare<SqlValue[]>(insertion('load_balancers', BALANCER)),
  update: store.prepare<SqlValue[]>(`UPDATE load_balancers SET ${VALUES.assignments}, modified_at = ? WHERE seq = ?`),
  link: store.prepare<[balancer: number, pool: number]>(
    'INSERT INTO load_balancer_pools (load_balancer, pool) VALUES (?, ?)',
  ),
  unlink: store.prepare<[balancer: number]>('DELETE FROM load_balancer_pools WHERE load_balancer = ?'),
}));

export const findLoadBalancer = oneRow<[seq: number], LoadBalancerRow>('SELECT * FROM load_balancers WHERE seq = ?');

export const findLoadBalancerById = oneRow<[id: Uint8Array], LoadBalancerRow>(
  'SELECT * FROM load_balancers WHERE id = ?',
);

/** The load balancer of exactly this owner, enabled or not. `zone`: store number. */
export const loadBalancerAt = oneRow<[zone: number, ownerKey: Uint8Array], LoadBalancerRow>(
  'SELECT * FROM load_balancers WHERE zone = ? AND owner_key = ?',
);

/** In the canonical order of their owners, disabled ones too. */
export const loadBalancersOfZone = allRows<[zone: number], LoadBalancerRow>(
  'SELECT * FROM load_balancers WHERE zone = ? ORDER BY owner_key',
);

/** Owners of those that are enabled and proxied, no more than `limit`. */
export function proxiedBalancerOwners(store: Store, zone: number, limit: number): Uint8Array[] {
  return statements(store)
    .proxied.all(zone, limit)
    .map(([ownerKey]) => ownerKey);
}

/** Whether any load balancer needs the country of a client, or its distance. */
// Matches JSON without spaces: a map or list of countries that is not empty, or steering by distance.
export const needsPlaces = hasRow<
  []
>(`SELECT 1 FROM load_balancers WHERE enabled = 1 AND (settings LIKE '%"country_pools":{"%'
       OR settings LIKE '%"countries":["%' OR settings LIKE '%"steering_policy":"proximity"%') LIMIT 1`);

/** Those whose transfers follow health. */
// Matches JSON without spaces; inside of its texts, quotes have backslashes.
export const balancersWithTransferHealth = allRows<[], LoadBalancerRow>(
  `SELECT * FROM load_balancers WHERE instr(settings, '"transfer_health":true') > 0 ORDER BY seq`,
);

/** Sets what the service itself keeps among the settings: for the owner, nothing changes. */
export function setBalancerSettings(store: Store, seq: number, settings: string): void {
  statements(store).setSettings.run(settings, seq);
}

/** In all zones of the account. */
export const loadBalancersOfAccount = allRows<[account: number], LoadBalancerRow>(
  'SELECT * FROM load_balancers WHERE account = ? ORDER BY seq',
);

/** Those that refer to a pool (store number) anywhere. */
export function loadBalancersOfPool(store: Store, pool: number): LoadBalancerRow[] {
  return someLoadBalancersOfPool(store, pool, Number.MAX_SAFE_INTEGER);
}

/** The same, no more than `limit`. */
export const someLoadBalancersOfPool = allRows<
  [pool: number, limit: number],
  LoadBalancerRow
>(`SELECT load_balancers.* FROM load_balancer_pools JOIN load_balancers ON load_balancers.seq = load_balancer
     WHERE pool = ? ORDER BY load_balancers.seq LIMIT ?`);

export const countLoadBalancersOfPool = theValue<[pool: number], number>(
  'SELECT count(*) FROM load_balancer_pools WHERE pool = ?',
);

/** Of a load balancer (store number). */
export function sizeOfBalancer(store: Store, seq: number): BalancerSize {
  return statements(store).size.get(seq)!;
}

/** The first load balancer of a pool (store number) whose pools have more origins than `most` together. */
// Each pool is read only once.
export const crowdedBalancerOf = oneRow<
  [pool: number, most: number],
  { readonly name: string; readonly origins: number }
>(`WITH uses AS MATERIALIZED (SELECT one.load_balancer, one.pool FROM load_balancer_pools AS this
         JOIN load_balancer_pools AS one USING (load_balancer) WHERE this.pool = ?),
       counts AS MATERIALIZED (SELECT seq, json_array_length(settings, '$.origins') AS origins FROM pools
         WHERE seq IN (SELECT pool FROM uses))
     SELECT name, sum(origins) AS origins FROM uses JOIN counts ON counts.seq = uses.pool
       JOIN load_balancers ON load_balancers.seq = load_balancer
     GROUP BY load_balancer HAVING sum(origins) > ? ORDER BY load_balancer LIMIT 1`);

/** Octets of the settings of an account's load balancers, counting those that have at least this many. */
export const octetsOfBalancers = theValue<[account: number, least: number], number>(
  'SELECT coalesce(sum(octet_length(settings)), 0) FROM load_balancers WHERE account = ? AND octet_length(settings) >= ?',
);

/** `pools`: store numbers of all that it refers to, each once. `now`: microseconds since 1970. */
export function insertLoadBalancer(
  store: Store,
  row: LoadBalancerValues & Pick<LoadBalancerRow, 'id' | 'zone' | 'account'>,
  pools: readonly number[],
  now: number,
): void {
  const { insert, link } = statements(store);
  const { lastInsertRowid: seq } = insert.run(...BALANCER.values({ ...row, created_at: now, modified_at: now }));
  for (const pool of pools) link.run(seq, pool);
}

export function updateLoadBalancer(
  store: Store,
  seq: number,
  values: LoadBalancerValues,
  pools: readonly number[],
  now: number,
): void {
  const { update, unlink, link } = statements(store);
  update.run(...VALUES.values(values), now, seq);
  unlink.run(seq);
  for (const pool of pools) link.run(seq, pool);
}

export const removeLoadBalancer = runs<[seq: number]>('DELETE FROM load_balancers WHERE seq = ?');
