/**
 * The single rule that says what an owner serves. Its stored records and those that the service adds become RRsets by
 * zone/derive/owner.ts: proxied names, HTTPS records, flattened CNAMEs, SOA and NS of the apex.
 *
 * {@link withAddedRecords} gives the records that nobody wrote: addresses of name servers inside the zone, challenges of
 * certificate authorities, keys of other zones (RFC 9615), and what stands at the names of load balancers. Any further added record
 * belongs there, and its owner in {@link addedOwners}.
 */
import { compareBytes, equalBytes } from '../base/bytes.js';
import { isOwnerKeyBelow } from '../dns/name.js';
import type { RRset } from '../dns/rr.js';
import { loadBalancersOfZone } from '../store/balancing/load-balancers.js';
import { challengeOwners, challengeTexts } from '../store/certs/orders.js';
import { signalOwners, signalsAt } from '../store/dnssec/signals.js';
import { signatureOctets, signaturesOfZone } from '../store/dnssec/signatures.js';
import type { Store } from '../store/driver.js';
import { targetFacts } from '../store/flatten/targets.js';
import { hasDescendants, parseSettings } from '../store/records/records.js';
import { type StoredTuple, storedRows, storedRowsOfOwner } from '../store/records/stored-rows.js';
import { challengeRecords } from '../zone/derive/challenges.js';
import type { TargetFacts, TargetLookup } from '../zone/derive/flatten.js';
import { hostRecords } from '../zone/derive/hosts.js';
import { deriveRRsets, type RecordFacts, writtenRRsets } from '../zone/derive/owner.js';
import { signalRecords } from '../zone/derive/signals.js';
import {
  answersOf,
  type Balanced,
  type BalancedAnswers,
  balancedAt,
  balancedRecords,
  isHiddenType,
} from './balanced.js';
import { isPresigned, signedVariants, withApexRRsets, withSignatures } from './signed.js';
import { readSignedOwner } from './stored-signatures.js';
import type { ServingZone } from './zone.js';

/** An owner with its records: first the stored ones, then those that the service adds. */
export interface StandingOwner {
  /** Relative to the apex, see dns/name.ts. */
  readonly ownerKey: Uint8Array;
  readonly records: readonly RecordFacts[];
}

export interface ServedOwner extends StandingOwner {
  /**
   * The answered RRsets, in directory order. A name with records may have none when its flattened target has no
   * address.
   */
  readonly rrsets: readonly RRset[];
  /**
   * At the name of a load balancer that is not proxied: what is answered in place of addresses and aliases among `rrsets`, which
   * transfers carry.
   */
  readonly balanced?: BalancedAnswers;
}

/** What one owner serves now. */
export function servedAtOwner(store: Store, zone: ServingZone, ownerKey: Uint8Array): ServedOwner {
  const [served] = servedWithRows(store, zone, ownerKey, [storedRowsOfOwner(store, zone.seq, ownerKey)]);
  return signStored(store, zone, served!);
}

/** What one owner would serve with each of these lists of stored records, without signatures. */
export function servedWithRows(
  store: Store,
  zone: ServingZone,
  ownerKey: Uint8Array,
  lists: readonly (readonly StoredTuple[])[],
): ServedOwner[] {
  const facts = addedFacts(store, zone, ownerKey);
  return lists.map((rows) => serveStored(zone, { ownerKey, records: rows.map(recordFacts) }, facts, targetsOf(store)));
}

/** The records of an owner in transfers, with {@link recordsAtOwner}: without what a load balancer may answer in place of its addresses. */
export function carriedByRecords(store: Store, zone: ServingZone, owner: StandingOwner): ServedOwner {
  return signStored(store, zone, derive(zone, owner, targetsOf(store)));
}

function signStored(store: Store, zone: ServingZone, served: ServedOwner): ServedOwner {
  return zone.signing ? sign(zone, served, signatureOctets(store, zone.seq, served.ownerKey)) : served;
}

/** What an owner serves without its signatures and its NSEC record, which is what they are made for. */
export function unsignedByRecords(store: Store, zone: ServingZone, owner: StandingOwner): ServedOwner {
  const balanced = findBalanced(store, zone, owner.ownerKey);
  return derive(zone, owner, targetsOf(store), balanced);
}

/** What would be served at an owner name with another load balancer, without signatures. */
export function servedWithBalancer(
  store: Store,
  zone: ServingZone,
  ownerKey: Uint8Array,
  balanced: Balanced | undefined,
): ServedOwner {
  const owner = { ownerKey, records: storedRecords(store, zone, ownerKey) };
  return serveStored(zone, owner, { ...addedFacts(store, zone, ownerKey), balanced }, targetsOf(store));
}

function sign({ signing }: ServingZone, served: ServedOwner, octets: Uint8Array | undefined): ServedOwner {
  const stored = octets && readSignedOwner(octets);
  const { balanced } = served;
  const rrsets = withSignatures(signing!, served.rrsets, stored);
  if (!balanced) return { ...served, rrsets };
  return { ...served, rrsets, balanced: { ...balanced, rrsets: signedVariants(balanced.rrsets, stored) } };
}

/**
 * The records of an owner before proxying and flattening. A caller that needs them unreplaced, such as the resolver for
 * targets of flattened names, reads records with this function and RRsets with {@link writtenAtOwner}.
 */
export function recordsAtOwner(store: Store, zone: ServingZone, ownerKey: Uint8Array): readonly RecordFacts[] {
  return withAddedRecords(
    zone,
    { ownerKey, records: storedRecords(store, zone, ownerKey) },
    addedFacts(store, zone, ownerKey),
  );
}

/** What an owner would serve without proxying and flattening. */
export function writtenAtOwner({ facts }: ServingZone, { ownerKey, records }: StandingOwner): RRset[] {
  return writtenRRsets(facts, ownerKey, records);
}

/** The same with each of these lists of stored records in place of those that it has. */
export function recordsWithRows(
  store: Store,
  zone: ServingZone,
  ownerKey: Uint8Array,
  lists: readonly (readonly StoredTuple[])[],
): (readonly RecordFacts[])[] {
  const facts = addedFacts(store, zone, ownerKey);
  return lists.map((rows) => withAddedRecords(zone, { ownerKey, records: rows.map(recordFacts) }, facts));
}

function storedRecords(store: Store, { seq }: ServingZone, ownerKey: Uint8Array): RecordFacts[] {
  return storedRowsOfOwner(store, seq, ownerKey).map(recordFacts);
}

/**
 * Everything that a zone serves, owner by owner in canonical order; the apex comes first even without stored records.
 * Runs several statements: create and consume the generator inside one `snapshot` or write.
 */
export function servedOwners(store: Store, zone: ServingZone): Generator<ServedOwner> {
  const owners = unsignedOwners(store, zone);
  return zone.signing ? signOwners(store, zone, owners) : owners;
}

/** The same without signatures and NSEC records. `after`: begins with the owner after this key. */
export function unsignedOwners(store: Store, zone: ServingZone, after?: Uint8Array): Generator<ServedOwner> {
  const rows = storedRows(store, zone.staged?.records ?? zone.seq, after);
  return serveRows(zone, rows, targetsOf(store), addedOfZone(store, zone), after);
}

/** Signatures are in the order of the owners. */
function* signOwners(store: Store, zone: ServingZone, owners: Iterable<ServedOwner>): Generator<ServedOwner> {
  const rows = signaturesOfZone(store, zone.staged?.signatures ?? zone.seq, new Uint8Array(0));
  let row = rows.next();
  for (const owner of owners) {
    while (!row.done && compareBytes(row.value.owner_key, owner.ownerKey) < 0) row = rows.next();
    const found = !row.done && isSameKey(row.value.owner_key, owner.ownerKey);
    yield sign(zone, owner, found ? row.value.octets : undefined);
  }
}

/** What the service adds to an owner beyond the addresses of name servers. */
interface AddedFacts {
  /** Texts of challenges. */
  readonly texts: readonly string[];
  /** Keys of other zones. */
  readonly signals: readonly Pick<RecordFacts, 'type' | 'rdata'>[];
  readonly balanced?: Balanced | undefined;
}

const NOTHING_ADDED: AddedFacts = { texts: [], signals: [] };

/** By owner key as latin1 text. They are read when it is the owner's turn: a zone may have very many load balancers. */
type AddedOfZone = ReadonlyMap<string, () => AddedFacts>;

/** What rows in the order of their owner keys serve, without signatures. `after`: the owner before the first row. */
export function* serveRows(
  zone: ServingZone,
  rows: Iterable<StoredTuple>,
  targetOf: TargetLookup,
  addedFacts: AddedOfZone = new Map(),
  after?: Uint8Array,
): Generator<ServedOwner> {
  const all = addedOwners(zone, keysOf(addedFacts));
  const added = after ? all.filter((key) => compareBytes(key, after) > 0) : all;
  const serve = (owner: StandingOwner): ServedOwner => {
    const facts = addedFacts.size === 0 ? undefined : addedFacts.get(textOfKey(owner.ownerKey))?.();
    return serveStored(zone, owner, facts ?? NOTHING_ADDED, targetOf);
  };
  let previous: Uint8Array | undefined;
  for (const owner of ownersOf(rows, after)) {
    if (added.length > 0) yield* takeBetween(added, previous, owner.ownerKey).map(serve);
    yield serve(owner);
    previous = owner.ownerKey;
  }
  yield* takeBetween(added, previous).map(serve);
}

/**
 * Groups rows in the order of their owner keys into owners; the apex comes first even without rows, unless they begin `after`
 * an owner.
 */
export function* ownersOf(rows: Iterable<StoredTuple>, after?: Uint8Array): Generator<StandingOwner> {
  let ownerKey: Uint8Array = after ?? new Uint8Array(0);
  let records: RecordFacts[] = [];
  for (const row of rows) {
    if (!isSameKey(row[0], ownerKey)) {
      if (ownerKey !== after) yield { ownerKey, records };
      ownerKey = row[0];
      records = [];
    }
    records.push(recordFacts(row));
  }
  if (ownerKey !== after) yield { ownerKey, records };
}

/** Takes the owners without stored records between two keys from `added`. */
function takeBetween(added: Uint8Array[], after: Uint8Array | undefined, before?: Uint8Array): StandingOwner[] {
  const taken: StandingOwner[] = [];
  while (added.length > 0 && (before === undefined || compareBytes(added[0]!, before) < 0)) {
    const ownerKey = added.shift()!;
    if (!after || !equalBytes(ownerKey, after)) taken.push({ ownerKey, records: [] });
  }
  return taken;
}

/** Whether the owner exists: it or a name below it has records (RFC 4592 §2.2.2). */
export function ownerExists(store: Store, zone: ServingZone, { ownerKey, records }: StandingOwner): boolean {
  return records.length > 0 || ownerKey.length === 0 || hasOwnersBelow(store, zone, ownerKey);
}

/** Whether any owner exists below this one. */
function hasOwnersBelow(store: Store, zone: ServingZone, ownerKey: Uint8Array): boolean {
  if (hasDescendants(store, zone.seq, ownerKey)) return true;
  return addedOwners(zone, ownersWithFacts(store, zone)).some((key) => isOwnerKeyBelow(key, ownerKey));
}

function serveStored(zone: ServingZone, owner: StandingOwner, facts: AddedFacts, targetOf: TargetLookup): ServedOwner {
  const records = withAddedRecords(zone, owner, facts);
  return derive(zone, { ownerKey: owner.ownerKey, records }, targetOf, facts.balanced);
}

function derive(
  zone: ServingZone,
  { ownerKey, records }: StandingOwner,
  targetOf: TargetLookup,
  balanced?: Balanced,
): ServedOwner {
  const derived = deriveRRsets(zone.facts, ownerKey, records, zone.edge, targetOf);
  const rrsets = zone.signing && ownerKey.length === 0 ? withApexRRsets(derived, zone.signing) : derived;
  if (!balanced || (balanced.balancer.proxied && !zone.facts.dnsOnly)) return { ownerKey, records, rrsets };
  return { ownerKey, records, rrsets, balanced: answersOf(balanced, mayAlias(zone, ownerKey, rrsets), targetOf) };
}

/** Whether a CNAME may stand at a name: with no other type (RFC 1034 §3.6.2), and where no chain of denial lists its types. */
function mayAlias({ signing }: ServingZone, ownerKey: Uint8Array, rrsets: readonly RRset[]): boolean {
  return !signing && ownerKey.length > 0 && rrsets.every(({ type }) => isHiddenType(type));
}

/** The load balancer of an owner. */
function findBalanced(store: Store, zone: ServingZone, ownerKey: Uint8Array): Balanced | undefined {
  return isPresigned(zone) ? undefined : balancedAt(store, zone.seq, ownerKey);
}

/** Owner keys to which the service adds records, each once, in canonical order. */
function addedOwners({ hosts }: ServingZone, others: readonly Uint8Array[]): Uint8Array[] {
  if (others.length === 0) return [...hosts];
  return [...hosts, ...others].sort(compareBytes).filter((key, i, all) => i === 0 || !equalBytes(key, all[i - 1]!));
}

/** The stored records of an owner and those that the service adds. */
function withAddedRecords(
  { hosts, hostAddresses, facts }: ServingZone,
  { ownerKey, records }: StandingOwner,
  { texts, signals, balanced }: AddedFacts,
): readonly RecordFacts[] {
  if (balanced) records = balancedRecords(balanced, records);
  const isHost = hosts.length > 0 && hosts.some((key) => equalBytes(key, ownerKey));
  if (!isHost && texts.length === 0 && signals.length === 0) return records;
  const added = isHost ? hostRecords(records, hostAddresses, facts.nsTtl) : [];
  return [...records, ...added, ...challengeRecords(records, texts), ...signalRecords(records, signals)];
}

function addedFacts(store: Store, zone: ServingZone, ownerKey: Uint8Array): AddedFacts {
  if (isPresigned(zone)) return NOTHING_ADDED;
  const { seq } = zone;
  return {
    texts: challengeTexts(store, seq, ownerKey),
    signals: tellsOfOthers(zone) ? signalsAt(store, seq, ownerKey) : [],
    balanced: findBalanced(store, zone, ownerKey),
  };
}

function addedOfZone(store: Store, zone: ServingZone): AddedOfZone {
  return new Map(ownersWithFacts(store, zone).map((key) => [textOfKey(key), () => addedFacts(store, zone, key)]));
}

/** Some of them twice. */
function ownersWithFacts(store: Store, zone: ServingZone): readonly Uint8Array[] {
  if (isPresigned(zone)) return [];
  const balancers = loadBalancersOfZone(store, zone.seq).filter(({ enabled }) => enabled === 1);
  const challenges = [...challengeOwners(store, zone.seq), ...balancers.map(({ owner_key: key }) => key)];
  return tellsOfOthers(zone) ? [...challenges, ...signalOwners(store, zone.seq)] : challenges;
}

function tellsOfOthers({ signing }: ServingZone): boolean {
  return signing?.row.signals === 1;
}

function keysOf(facts: AddedOfZone): Uint8Array[] {
  return [...facts.keys()].map((text) => new Uint8Array(Buffer.from(text, 'latin1')));
}

function textOfKey(key: Uint8Array): string {
  return Buffer.from(key).toString('latin1');
}

function targetsOf(store: Store): TargetLookup {
  return (target): TargetFacts | undefined => targetFacts(store, target);
}

function recordFacts([, type, ttl, proxied, rdata, settings]: StoredTuple): RecordFacts {
  const row = { type, ttl, proxied: proxied === 1, rdata };
  if (settings === null) return row;
  const { ipv4_only, ipv6_only, flatten_cname, origin_port: originPort } = parseSettings(settings);
  const flattenCname = flatten_cname === true;
  const facts = { ...row, ipv4Only: ipv4_only === true, ipv6Only: ipv6_only === true, flattenCname };
  return originPort === undefined ? facts : { ...facts, originPort };
}

/** Compared from the end, because neighbours in canonical order differ near their ends. */
function isSameKey(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = a.length - 1; i >= 0; i--) if (a[i] !== b[i]) return false;
  return true;
}
