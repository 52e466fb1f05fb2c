/**
 * Targets of flattened names, and the owners that answer for them. The index of owners is kept by every commit that touches a
 * CNAME; what is heard of a target is written by the refresher alone.
 */
import { perStore, type Store } from '../driver.js';

export interface FlattenTargetRow {
  /** Lower-case wire name. */
  readonly name: Uint8Array;
  /** Addresses one after the other; null when nothing usable was heard. */
  readonly ipv4: Uint8Array | null;
  readonly ipv6: Uint8Array | null;
  /** Seconds. */
  readonly ttl: number;
  /** 1 once an answer, or a failure, has come. */
  readonly asked: number;
  readonly stale: number;
  /** 1 when part of the answer is from our own zones. */
  readonly own: number;
  /** In a row. */
  readonly failures: number;
  /** Microseconds since 1970. */
  readonly resolved_at: number;
  readonly expires_at: number;
  /** When to ask (again), milliseconds since 1970. */
  readonly refresh_at: number;
  /** JSON list of the names from the target to the end of its chain, with their TTLs. */
  readonly chain: string | null;
  /** Why nothing usable was heard the last time. */
  readonly reason: string | null;
}

export interface FlattenedOwner {
  readonly zone: number;
  readonly owner_key: Uint8Array;
  /** 0: it is proxied, and only whether the target leads somewhere is of interest. */
  readonly answered: number;
}

/** What is served of a target; see zone/derive/flatten.ts. */
export interface StoredTargetFacts {
  readonly ipv4: readonly Uint8Array[] | undefined;
  readonly ipv6: readonly Uint8Array[] | undefined;
  readonly ttl: number;
  readonly stale: boolean;
}

/** Targets that are answered rest no longer than this after their time is over, milliseconds. */
const LONGEST_REST_MS = 500_000;

/** Another value each time, so that a question under way is seen to be too old. */
const HURRY = 'refresh_at = CASE WHEN refresh_at > 0 THEN 0 ELSE refresh_at - 1 END';

export const flattenStatements = perStore((store) => ({
  byName: store.prepare<[name: Uint8Array], FlattenTargetRow>('SELECT * FROM flatten_targets WHERE name = ?'),
  facts: store.prepareTuples<
    [name: Uint8Array],
    [ipv4: Uint8Array | null, ipv6: Uint8Array | null, ttl: number, stale: number]
  >('SELECT ipv4, ipv6, ttl, stale FROM flatten_targets WHERE name = ? AND asked = 1'),
  due: store.prepare<[nowMs: number, limit: number], FlattenTargetRow>(
    'SELECT * FROM flatten_targets WHERE refresh_at <= ? ORDER BY refresh_at LIMIT ?',
  ),
  count: store.prepareTuples<[], [number]>('SELECT count(*) FROM flatten_targets'),
  ownersOf: store.prepare<[target: Uint8Array], FlattenedOwner>(
    'SELECT zone, owner_key, answered FROM flatten_owners WHERE target = ?',
  ),
  targetOfOwner: store.prepareTuples<[zone: number, ownerKey: Uint8Array], [Uint8Array]>(
    'SELECT target FROM flatten_owners WHERE zone = ? AND owner_key = ?',
  ),
  zonesWithAliases: store.prepareTuples<[], [number]>('SELECT DISTINCT zone FROM records WHERE type = 5'),
  clearZone: store.prepare<[zone: number]>('DELETE FROM flatten_owners WHERE zone = ?'),
  clearOwner: store.prepare<[zone: number, ownerKey: Uint8Array]>(
    'DELETE FROM flatten_owners WHERE zone = ? AND owner_key = ?',
  ),
  putOwner: store.prepare<[zone: number, ownerKey: Uint8Array, target: Uint8Array, answered: number]>(
    'INSERT INTO flatten_owners (zone, owner_key, target, answered) VALUES (?, ?, ?, ?)',
  ),
  /** Asked for as soon as possible. */
  putTarget: store.prepare<[name: Uint8Array]>('INSERT OR IGNORE INTO flatten_targets (name) VALUES (?)'),
  remove: store.prepare<[name: Uint8Array]>('DELETE FROM flatten_targets WHERE name = ?'),
  hurryDependents: store.prepare<[name: Uint8Array]>(
    `UPDATE flatten_targets SET ${HURRY} WHERE name IN (SELECT target FROM flatten_links WHERE name = ?)`,
  ),
  /** One that was only watched: it rests far beyond its time. */
  hurryWatched: store.prepare<[name: Uint8Array]>(
    `UPDATE flatten_targets SET ${HURRY} WHERE name = ? AND refresh_at > expires_at / 1000 + ${LONGEST_REST_MS}`,
  ),
  hurryOwn: store.prepare<[]>(`UPDATE flatten_targets SET ${HURRY} WHERE name IN (SELECT target FROM flatten_links)`),
  anyLink: store.prepareTuples<[], [number]>('SELECT 1 FROM flatten_links LIMIT 1'),
  clearLinks: store.prepare<[target: Uint8Array]>('DELETE FROM flatten_links WHERE target = ?'),
  putLink: store.prepare<[name: Uint8Array, target: Uint8Array]>(
    'INSERT OR IGNORE INTO flatten_links (name, target) VALUES (?, ?)',
  ),
  update: store.prepare<
    [
      ipv4: Uint8Array | null,
      ipv6: Uint8Array | null,
      ttl: number,
      stale: number,
      own: number,
      failures: number,
      resolvedAt: number,
      expiresAt: number,
      refreshAt: number,
      chain: string | null,
      reason: string | null,
      name: Uint8Array,
    ]
  >(
    `UPDATE flatten_targets SET asked = 1, ipv4 = ?, ipv6 = ?, ttl = ?, stale = ?, own = ?, failures = ?, resolved_at = ?,
       expires_at = ?, refresh_at = ?, chain = ?, reason = ? WHERE name = ?`,
  ),
}));

/** Undefined for a target nobody has asked for yet. */
export function targetFacts(store: Store, name: Uint8Array): StoredTargetFacts | undefined {
  const row = flattenStatements(store).facts.get(name);
  if (!row) return undefined;
  const [ipv4, ipv6, ttl, stale] = row;
  return { ipv4: splitAddresses(ipv4, 4), ipv6: splitAddresses(ipv6, 16), ttl, stale: stale === 1 };
}

function splitAddresses(octets: Uint8Array | null, size: number): Uint8Array[] | undefined {
  if (octets === null) return undefined;
  return Array.from(
    { length: octets.length / size },
    (_, i) => new Uint8Array(octets.subarray(i * size, (i + 1) * size)),
  );
}

/** A CNAME whose target is asked for. */
export interface FlattenedAlias {
  readonly ownerKey: Uint8Array;
  /** Lower-case wire name. */
  readonly target: Uint8Array;
  /** Whether the owner answers with what is heard; otherwise only whether the target leads somewhere is of interest. */
  readonly answered: boolean;
}

/** Whether the index has an entry for an owner. */
export function isFlattenedOwner(store: Store, zone: number, ownerKey: Uint8Array): boolean {
  return flattenStatements(store).targetOfOwner.get(zone, ownerKey) !== undefined;
}

/** Brings the index up to date for one owner, whose CNAME is flattened or not any more. */
export function putFlattenedOwner(
  store: Store,
  zone: number,
  ownerKey: Uint8Array,
  alias: FlattenedAlias | undefined,
): void {
  flattenStatements(store).clearOwner.run(zone, ownerKey);
  if (alias) putAlias(store, zone, alias);
}

/** Replaces the entries of a whole zone. */
export function putFlattenedZone(store: Store, zone: number, aliases: readonly FlattenedAlias[]): void {
  flattenStatements(store).clearZone.run(zone);
  for (const alias of aliases) putAlias(store, zone, alias);
}

function putAlias(store: Store, zone: number, { ownerKey, target, answered }: FlattenedAlias): void {
  const { putOwner, putTarget, hurryWatched } = flattenStatements(store);
  putOwner.run(zone, ownerKey, target, answered ? 1 : 0);
  putTarget.run(target);
  if (answered) hurryWatched.run(target);
}

/** Store numbers of the zones that hold a CNAME. */
export function zonesWithAliases(store: Store): number[] {
  return flattenStatements(store)
    .zonesWithAliases.all()
    .map(([zone]) => zone);
}

/** Writes what was heard, and which of our own names it came from (lower-case wire names). */
export function updateTarget(store: Store, row: FlattenTargetRow, links: readonly Uint8Array[]): void {
  const statements = flattenStatements(store);
  const { name, ipv4, ipv6, ttl, stale, own, failures, resolved_at, expires_at, refresh_at, chain, reason } = row;
  statements.update.run(
    ipv4,
    ipv6,
    ttl,
    stale,
    own,
    failures,
    resolved_at,
    expires_at,
    refresh_at,
    chain,
    reason,
    name,
  );
  statements.clearLinks.run(name);
  for (const link of links) statements.putLink.run(link, name);
}
