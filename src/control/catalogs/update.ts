/** Brings a catalog zone in line with the zones of its account, a few of them in each commit: an account may have very many. */
import { equalBytes, toHex } from '../../base/bytes.js';
import { makeId } from '../../base/random.js';
import { betweenWrites, inSlices } from '../../base/slices.js';
import type { JobContext } from '../../jobs/kind.js';
import type { Store } from '../../store/driver.js';
import { lastChange } from '../../store/log/changes.js';
import type { ImportedRow } from '../../store/records/packed-rows.js';
import { type RecordRow, recordsBetween, recordsOfOwner } from '../../store/records/records.js';
import {
  belongsToCatalog,
  type CatalogRow,
  findCatalog,
  findCatalogById,
  findMember,
  type MemberRow,
  putMember,
  removeMember,
  zonesOfCatalogAfter,
} from '../../store/secondary/catalogs.js';
import type { LinkedPeerRow } from '../../store/secondary/linked-peers.js';
import {
  findOutgoing,
  insertOutgoing,
  peersOfZone,
  setOutgoing,
  setPeersOfZone,
} from '../../store/secondary/outgoing.js';
import { findZone, type ZoneRow, zonesOfName } from '../../store/zones/zones.js';
import { isCompactZone } from '../dnssec/switch-denial.js';
import { commit, type Draft } from '../kernel/commit.js';
import type { Context } from '../kernel/context.js';
import { type CatalogContent, contentOf, MEMBERS_FROM, MEMBERS_TO, memberAt, ownersOf } from './content.js';

/** Zones, or owners of records, that are read at a time; and those that one commit brings in line. */
const READ_AT_ONCE = 200;
const PART = 20;
/** A zone that goes over to another catalog stays in the old one until its consumers have seen both; microseconds. */
const MOVE_US = 24 * 3_600_000_000;

/** An operation on a catalog: done in a commit, or only noted. */
interface CatalogEdits {
  putMember(member: MemberRow): void;
  removeMember(member: MemberRow): void;
  letTransfer(zone: number, peers: readonly LinkedPeerRow[]): void;
  removeRecord(row: RecordRow): void;
  insertRecord(row: ImportedRow): void;
}

interface OpenCatalog {
  readonly row: CatalogRow;
  readonly zone: ZoneRow;
  readonly peers: readonly LinkedPeerRow[];
  readonly content: CatalogContent;
}

function openCatalog({ store, settings }: Context, row: CatalogRow): OpenCatalog {
  const zone = findZone(store, row.zone)!;
  return { row, zone, peers: peersOfZone(store, row.zone), content: contentOf(zone, settings.limits) };
}

/** Inside a commit: the first records of a new catalog, and its first members. Returns whether there may be more. */
export function beginCatalog(ctx: Context, draft: Draft, row: CatalogRow): boolean {
  const catalog = openCatalog(ctx, row);
  const edits = editsIn(ctx, draft, catalog);
  for (const record of catalog.content.head()) edits.insertRecord(record);
  const zones = zonesOfCatalogAfter(ctx.store, row, 0, PART);
  for (const zone of zones) alignZone(ctx, draft.now, catalog, zone, edits);
  return zones.length === PART;
}

/** Inside a commit: the same for one zone. `before`: the member that it was. */
export function updateMember(ctx: Context, draft: Draft, row: CatalogRow, before: MemberRow): void {
  const catalog = openCatalog(ctx, row);
  const edits = editsIn(ctx, draft, catalog);
  alignZone(ctx, draft.now, catalog, before.zone, edits);
  removeStray(ctx.store, catalog, before.member_id, edits);
}

/** Brings all of a catalog in line. Returns when the next move of a zone ends, in microseconds since 1970; undefined: never. */
export async function updateCatalog(
  ctx: Context,
  id: Uint8Array,
  { requireLease, signal }: Pick<JobContext, 'requireLease' | 'signal'>,
): Promise<number | undefined> {
  const row = findCatalogById(ctx.store, id);
  if (!row) return undefined;
  const found = await inSlices(ctx.clock, outOfLine(ctx, openCatalog(ctx, row)));
  const inParts = async <Item>(
    items: readonly Item[],
    mend: (catalog: OpenCatalog, item: Item, edits: CatalogEdits, now: number) => void,
  ): Promise<void> => {
    for (let at = 0; at < items.length && !signal.aborted; at += PART) {
      await commit(ctx, (draft) => {
        requireLease();
        const now = findCatalogById(ctx.store, id);
        const catalog = now && openCatalog(ctx, now);
        if (!catalog) return;
        const edits = editsIn(ctx, draft, catalog);
        for (const item of items.slice(at, at + PART)) mend(catalog, item, edits, draft.now);
      });
      await betweenWrites();
    }
  };
  await inParts(found.strays, (catalog, stray, edits) => removeStray(ctx.store, catalog, stray, edits));
  await inParts(found.zones, (catalog, zone, edits, now) => alignZone(ctx, now, catalog, zone, edits));
  return found.endsAt;
}

interface OutOfLine {
  /** Store numbers of zones. */
  readonly zones: readonly number[];
  /** Identifiers of former members. */
  readonly strays: readonly Uint8Array[];
  readonly endsAt: number | undefined;
}

function* outOfLine(ctx: Context, catalog: OpenCatalog): Generator<undefined, OutOfLine> {
  const { store } = ctx;
  const now = ctx.clock.nowUs();
  const zones: number[] = [];
  const known = new Set<string>();
  let endsAt: number | undefined;
  let isInLine = true;
  const note = (): void => void (isInLine = false);
  const edits = { putMember: note, removeMember: note, letTransfer: note, removeRecord: note, insertRecord: note };
  for (let page = zonesOfCatalogAfter(store, catalog.row, 0, READ_AT_ONCE); page.length > 0; ) {
    for (const zone of page) {
      isInLine = true;
      alignZone(ctx, now, catalog, zone, edits);
      if (!isInLine) zones.push(zone);
      const member = findMember(store, catalog.row.seq, zone);
      if (member) known.add(toHex(member.member_id));
      const ends = member && endOfMove(store, member);
      if (ends !== undefined && ends > now) endsAt = Math.min(endsAt ?? ends, ends);
      yield;
    }
    page = zonesOfCatalogAfter(store, catalog.row, page.at(-1)!, READ_AT_ONCE);
  }
  return { zones, strays: yield* straysOf(store, catalog, known), endsAt };
}

/** Members whose zones are gone: nothing but their records is left. */
function* straysOf(store: Store, { row }: OpenCatalog, known: ReadonlySet<string>): Generator<undefined, Uint8Array[]> {
  const strays = new Map<string, Uint8Array>();
  let from: Uint8Array = MEMBERS_FROM;
  for (let isLast = false; !isLast; ) {
    const page = recordsBetween(store, row.zone, from, MEMBERS_TO, READ_AT_ONCE);
    for (const { owner_key: owner } of page) {
      const id = memberAt(owner);
      if (id && !known.has(toHex(id))) strays.set(toHex(id), id);
    }
    isLast = page.length < READ_AT_ONCE;
    // The next owner key.
    if (!isLast) from = Buffer.concat([page.at(-1)!.owner_key, Buffer.from([0])]);
    yield;
  }
  return [...strays.values()];
}

/** Whether the zone is a member, who may transfer it, and what the catalog says of it. */
function alignZone(ctx: Context, now: number, catalog: OpenCatalog, seq: number, edits: CatalogEdits): void {
  const { store } = ctx;
  const { row } = catalog;
  const zone = findZone(store, seq);
  if (!zone) return;
  let member = findMember(store, row.seq, seq);
  if (!belongsToCatalog(store, row, seq)) {
    if (member?.moved_to === null) {
      edits.removeMember(member);
      show(store, catalog, member.member_id, [], edits);
      return;
    }
  } else if (row.members === 'all' && !letTransfer(store, catalog.peers, seq, edits)) {
    ctx.log.debug({ zone: seq }, 'a zone is not in the catalog: its peers have another key, or it has compact denial');
  } else if (!member) {
    // Under the identifier of the zone: a zone that is created again has another one, so that consumers begin anew with it, too.
    member = { ...{ catalog: row.seq, zone: seq, name: zone.name }, member_id: zone.id, grp: null, ...UNMOVED };
    edits.putMember(member);
  }
  if (!member) return;
  const target = member.moved_to === null ? undefined : findCatalog(store, member.moved_to);
  const hasLeft = target !== undefined && endOfMove(store, member)! <= now;
  const movesTo = target && findZone(store, target.zone)?.name;
  const records = hasLeft ? [] : catalog.content.recordsOf({ ...member, movesTo });
  show(store, catalog, member.member_id, records, edits);
}

const UNMOVED = { moved_to: null, moved_at: null } as const;

/** When the zone leaves for another catalog; undefined: it stays. */
function endOfMove(store: Store, { moved_to: to, moved_at: at }: MemberRow): number | undefined {
  return to !== null && findCatalog(store, to) ? (at ?? 0) + MOVE_US : undefined;
}

/** Lets the peers of the catalog transfer the zone. False: its own peers have another key, or no other server can serve it. */
function letTransfer(store: Store, peers: readonly LinkedPeerRow[], zone: number, edits: CatalogEdits): boolean {
  if (isCompactZone(store, zone)) return false;
  const own = peersOfZone(store, zone);
  const missing = peers.filter((peer) => !own.some((known) => known.seq === peer.seq));
  if (missing.length === 0) return true;
  if (new Set([...own, ...peers].map(({ tsig }) => tsig)).size > 1) return false;
  edits.letTransfer(zone, [...own, ...missing]);
  return true;
}

/** Removes what the catalog says of a member, unless there is such a member after all. */
function removeStray(store: Store, catalog: OpenCatalog, id: Uint8Array, edits: CatalogEdits): void {
  const { row, zone } = catalog;
  const names = recordsOfOwner(store, zone.seq, ownersOf(id)[0]!).map(({ content }) => content);
  const members = names.flatMap((name) => zonesOfName(store, name)).map(({ seq }) => findMember(store, row.seq, seq));
  if (members.some((member) => member && equalBytes(member.member_id, id))) return;
  show(store, catalog, id, [], edits);
}

/** Makes the records of a member these. */
function show(
  store: Store,
  { zone }: OpenCatalog,
  memberId: Uint8Array,
  records: readonly ImportedRow[],
  edits: CatalogEdits,
): void {
  const wanted = new Map(records.map((row) => [nameOf(row), row]));
  for (const row of ownersOf(memberId).flatMap((owner) => recordsOfOwner(store, zone.seq, owner))) {
    if (!wanted.delete(nameOf(row))) edits.removeRecord(row);
  }
  for (const row of wanted.values()) edits.insertRecord(row);
}

function editsIn({ store, clock, random }: Context, draft: Draft, { zone: { seq } }: OpenCatalog): CatalogEdits {
  const { now } = draft;
  const times = { created_at: now, modified_at: now, comment_modified_at: null, tags_modified_at: null };
  return {
    putMember: (member) => putMember(store, member),
    removeMember: (member) => removeMember(store, member),
    letTransfer(zone, peers) {
      if (!findOutgoing(store, zone)) {
        insertOutgoing(store, zone, findZone(store, zone)!.name, lastChange(store), now);
        setOutgoing(store, zone, true, lastChange(store), now);
      }
      const all = peers.map((peer) => peer.seq);
      setPeersOfZone(store, zone, all);
    },
    removeRecord: (row) => draft.removeRecord(row),
    insertRecord(row) {
      draft.insertRecord({ ...row, ...times, id: makeId(clock.nowUs(), random), zone: seq, private_routing: null });
    },
  };
}

interface Compared {
  readonly owner_key: Uint8Array;
  readonly type: number;
  readonly rdata: Uint8Array;
  readonly ttl: number;
}

function nameOf({ owner_key: owner, type, rdata, ttl }: Compared): string {
  return `${toHex(owner)} ${type} ${ttl} ${toHex(rdata)}`;
}
