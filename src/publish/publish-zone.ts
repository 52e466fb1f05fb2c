/**
 * Publishes one zone: all of its pending changes or none. Touched owners are switched in at once. A zone that has to be
 * read as a whole is built invisibly, one part at a time, while other zones are published; changes that arrive
 * meanwhile are applied before it is switched in. A zone that cannot be published keeps its former state.
 */
import type { IsOver } from '../base/slices.js';
import { toFqdn } from '../dns/name.js';
import type { ImageWriter } from '../image/writer.js';
import type { ServingZone } from '../serving/zone.js';
import type { Expiries } from './expiries.js';
import type { HeldZones } from './held-zones.js';
import type { ImageRoom } from './image-room.js';
import { beginLoad, beginOwners, type OwnersLoad, type ZoneLoad } from './load.js';
import type { Change } from './source.js';
import { type LoadedZone, type Staging, stageOwners, touchedOwners } from './stage.js';

/** Owners that are compiled in any case; each takes up to 30 µs, that of a load balancer with very many origins some milliseconds. */
const FEW_OWNERS = 8;
/** Compiling more takes several steps, whatever the clock says. */
const MANY_OWNERS = 200;
/** The room of so many records is enough for an owner and what it changes in a denial index. */
const RECORDS_PER_OWNER = 3;
/** Changes of a zone that are applied between two looks at the clock. */
const CHANGES_AT_ONCE = 16;
/** How often very many owners that have changed meanwhile are compiled first, too: compiled owners take memory and are not visible. */
const MOST_ADDITIONS = 4;
/** The minimum cost of a zone, in records. */
const LEAST_RECORDS = 10;
/** Records of a zone that is loaded even while a new generation of the image is made, if there is room. */
const FEW_RECORDS = 1000;

/** Zones by their store numbers. */
export interface PublishedZones extends Staging {
  /** Zones in the image. */
  readonly loaded: Map<number, LoadedZone>;
  /** Zones that are being built, the oldest first. */
  readonly loading: Map<number, LoadingZone>;
  readonly held: HeldZones;
  readonly expiries: Expiries;
  readonly room: ImageRoom;
  /** While the process starts: zones are loaded for that, one after the other, in one snapshot. */
  starts: boolean;
  /** Whether many owners of served zones come before zones that are read as a whole; these get the next step. */
  ownersFirst: boolean;
}

export interface LoadingZone {
  readonly load: ZoneLoad | OwnersLoad;
  readonly use: ImageWriter['use'];
  /** The zone with which its nodes are compiled. */
  zone: ServingZone;
  /** It needs room for so many records. */
  readonly records: number;
  /** Whether there was room for them, or a new generation of the image was begun for them. */
  hasReserved: boolean;
  /** How often owners were added. */
  additions: number;
  /** The changes that caused the load, or were taken into it. */
  cause: readonly Change[];
  /** Changes that arrived since. */
  later: readonly Change[];
}

const NEVER: IsOver = () => false;

/**
 * Publishes changes of a zone together with its held ones. A load of the whole zone is only begun, and so is that of more than a few
 * owners that are not compiled before a time is over.
 */
export function publishChanges(
  zones: PublishedZones,
  seq: number,
  changes: readonly Change[],
  isOver: IsOver = NEVER,
): void {
  const { source, writer, loaded, loading, held } = zones;
  const current = loading.get(seq);
  if (current) {
    current.later = [...current.later, ...changes];
    return;
  }
  const pending = held.pending(seq, changes);
  holdOnFailure(zones, seq, pending, () => {
    const before = loaded.get(seq);
    const zone = source.zone(seq);
    const owners = before && zone && touchedOwners(source, before.zone, zone, pending);
    if (zone && !owners) {
      begin(zones, zone, pending);
      return;
    }
    const after = before && zone && { number: before.number, zone };
    if (after && owners && owners.length > FEW_OWNERS) {
      const load = beginOwners(zones, after, owners);
      const records = owners.length * RECORDS_PER_OWNER;
      const none = { hasReserved: false, additions: 0, later: [] };
      loading.set(seq, { ...none, load, use: 'small', records, zone: after.zone, cause: pending });
      writer.use = 'small';
      const isMany = owners.length > MANY_OWNERS;
      if (!isMany && !load.advance(Number.POSITIVE_INFINITY, isOver)) publishOwners(zones, load, after, []);
      return;
    }
    if (after && owners) stageEdits(zones, after, owners);
    else if (before) writer.removeZone(before.number);
    commit(zones, seq, after);
  });
}

/**
 * Loads all served zones at the start, as they are after the change with this number. Returns the number of records read. Zone after
 * zone: what very many begun ones keep takes several times as much memory as they do, and stays with the process.
 */
export function loadZones(zones: PublishedZones, sequence: number): number {
  zones.starts = true;
  let records = 0;
  for (const zone of zones.source.servedZones()) {
    publishChanges(zones, zone, [{ sequence, zone, complete: false }]);
    records += continueLoads(zones, Number.POSITIVE_INFINITY);
  }
  zones.starts = false;
  return records;
}

/** Continues building zones until about `most` records are read, or a time is over. Returns the number of records read. */
export function continueLoads(zones: PublishedZones, most: number, isOver: IsOver = NEVER): number {
  let read = 0;
  let spent = 0;
  for (const [seq, current] of inTurn(zones)) {
    const { load, use, cause, later } = current;
    const before = load.records();
    zones.writer.use = use;
    holdOnFailure(zones, seq, [...cause, ...later], () => {
      if (waitsForRoom(zones, current)) return;
      if (!load.advance(most - spent, isOver)) finish(zones, seq, isOver);
    });
    const more = load.records() - before;
    read += more;
    spent += Math.max(LEAST_RECORDS, more);
    if (spent >= most || isOver()) break;
  }
  return read;
}

/**
 * Whether a zone waits for the next generation of the image: for its own room, and a large one that is read as a whole also while others
 * need a new generation, which would have to copy what is loaded meanwhile.
 */
function waitsForRoom({ writer, starts }: PublishedZones, current: LoadingZone): boolean {
  const { zone, records } = current;
  if (!current.hasReserved && !writer.isRenewing()) {
    // Once: near the end of the image there would never be enough.
    current.hasReserved = true;
    writer.reserve(records, zone.denial);
  }
  // Nobody waits for a process that starts.
  if (starts) writer.compact();
  const isLarge = !isOfOwners(current) && records > FEW_RECORDS;
  return writer.isRenewing() && (isLarge || !writer.hasRoomToLoad(records, zone.denial));
}

/** The oldest first, but an edit of many owners does not wait until all zones that others have replaced are read. */
function* inTurn(zones: PublishedZones): Generator<readonly [seq: number, LoadingZone]> {
  zones.ownersFirst = !zones.ownersFirst;
  if (zones.ownersFirst) for (const entry of zones.loading) if (isOfOwners(entry[1])) yield entry;
  for (const entry of zones.loading) if (!zones.ownersFirst || !isOfOwners(entry[1])) yield entry;
}

const isOfOwners = ({ load }: LoadingZone): boolean => 'stage' in load;

/** Changes of owners may use the reserve of the image. */
function stageEdits(zones: PublishedZones, after: LoadedZone, owners: readonly Uint8Array[]): void {
  zones.writer.use = 'small';
  stageOwners(zones, after, owners);
  takeRoom(zones, after, owners.length);
}

function takeRoom({ source, writer, room }: PublishedZones, { number, zone }: LoadedZone, owners: number): void {
  room.take(source.accountOf(zone.seq), () => writer.stagedGrowth(number), owners);
}

function begin(zones: PublishedZones, zone: ServingZone, cause: readonly Change[]): void {
  const { source, writer, balances, loaded, loading, room } = zones;
  const { denial } = zone;
  const records = source.recordCount(zone);
  const use = zones.starts ? 'start' : room.useOf(loaded.has(zone.seq), records);
  writer.use = use;
  const signed = denial && { denial, hashedOwners: denial.kind === 'nsec3' ? source.hashedOwners(zone) : [] };
  const load = beginLoad(writer, zone.facts.apex, source.owners(zone), signed, balances);
  // A load that begins again lets others go first.
  loading.delete(zone.seq);
  loading.set(zone.seq, { load, use, zone, records, hasReserved: false, additions: 0, cause, later: [] });
}

/** Switches in a finished zone after applying the changes that arrived meanwhile; when a time is over, it goes on in the next step. */
function finish(zones: PublishedZones, seq: number, isOver: IsOver): void {
  const { source, writer, loaded, loading } = zones;
  const current = loading.get(seq)!;
  const { load } = current;
  const before = loaded.get(seq);
  if (zones.starts && !before) {
    // All is read from one state, so nothing has changed since it began.
    writer.publishZone(load.number);
    commit(zones, seq, { number: load.number, zone: current.zone });
    return;
  }
  const zone = source.zone(seq);
  if (!zone) {
    load.abandon();
    if (before) writer.removeZone(before.number);
    commit(zones, seq, undefined);
    return;
  }
  const after = { number: load.number, zone };
  const owners = 'stage' in load ? touchedOwners(source, current.zone, zone, current.later) : undefined;
  if ('stage' in load && owners) {
    finishOwners(zones, current, load, after, owners);
    return;
  }
  const changed = 'stage' in load ? undefined : applyLater(zones, current, after, isOver);
  if (changed === undefined) {
    load.abandon();
    begin(zones, zone, [...current.cause, ...current.later]);
    return;
  }
  if (current.later.length > 0) return;
  if (current.use === 'small') {
    const growth = (): number =>
      writer.wordsOf(after.number) + writer.stagedGrowth(after.number) - writer.wordsOf(before!.number);
    zones.room.take(source.accountOf(seq), growth, changed);
  }
  writer.publishZone(after.number, before?.number);
  commit(zones, seq, after);
}

/**
 * Applies changes that arrived meanwhile to a zone that is not visible yet. Returns the number of owners that were staged last; undefined
 * when the whole zone has to be read again.
 */
function applyLater(
  zones: PublishedZones,
  current: LoadingZone,
  after: LoadedZone,
  isOver: IsOver,
): number | undefined {
  for (;;) {
    const next = current.later.slice(0, CHANGES_AT_ONCE);
    const owners = touchedOwners(zones.source, current.zone, after.zone, next);
    if (!owners) return undefined;
    stageOwners(zones, after, owners);
    current.zone = after.zone;
    current.later = current.later.slice(next.length);
    if (current.later.length === 0) return owners.length;
    zones.writer.commit();
    zones.balances.nodes.settle(after.number);
    if (isOver()) return owners.length;
  }
}

/** Publishes all owners of a load at once. Very many that have changed since are compiled again first, a limited number of times. */
function finishOwners(
  zones: PublishedZones,
  current: LoadingZone,
  load: OwnersLoad,
  after: LoadedZone,
  changed: readonly Uint8Array[],
): void {
  if (changed.length > FEW_OWNERS && current.additions < MOST_ADDITIONS) {
    load.add(after, changed);
    current.additions++;
    current.zone = after.zone;
    current.cause = [...current.cause, ...current.later];
    current.later = [];
    return;
  }
  publishOwners(zones, load, after, changed);
}

function publishOwners(
  zones: PublishedZones,
  load: OwnersLoad,
  after: LoadedZone,
  changed: readonly Uint8Array[],
): void {
  load.stage();
  stageOwners(zones, after, changed);
  takeRoom(zones, after, load.records() + changed.length);
  commit(zones, after.zone.seq, after);
}

/** Makes the staged state visible; afterwards the zone is served as it is stored. */
function commit(
  { writer, balances: { nodes }, loaded, loading, held, expiries }: PublishedZones,
  seq: number,
  after: LoadedZone | undefined,
): void {
  if (after) expiries.apply(seq, after.number);
  writer.commit();
  if (after) nodes.settle(after.number);
  const before = loaded.get(seq);
  if (before && before.number !== after?.number) nodes.drop(before.number);
  loading.delete(seq);
  if (after) loaded.set(seq, after);
  else loaded.delete(seq);
  held.release(seq);
}

/** Runs `work`. If it throws, the zone keeps its former state, and these changes are tried again later. */
function holdOnFailure(zones: PublishedZones, seq: number, pending: readonly Change[], work: () => void): void {
  const { writer, balances, loaded, loading, held } = zones;
  try {
    work();
  } catch (error) {
    loading.get(seq)?.load.abandon();
    loading.delete(seq);
    writer.discard();
    const served = loaded.get(seq);
    if (served) balances.nodes.discard(served.number);
    held.hold(seq, nameOf(zones, seq), pending, error);
  }
}

/** The zone's name for messages. */
function nameOf({ source, loaded }: PublishedZones, seq: number): string {
  try {
    const zone = loaded.get(seq)?.zone ?? source.zone(seq);
    if (zone) return toFqdn(zone.facts.apex);
  } catch {
    // The caller already reports the failure that led here.
  }
  return `zone number ${seq}`;
}
