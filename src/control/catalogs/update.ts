/** Brings a catalog zone in line with the zones of its account, inside a commit. */
import { toHex } from '../../base/bytes.js';
import { makeId } from '../../base/random.js';
import type { Store } from '../../store/driver.js';
import { lastChange } from '../../store/log/changes.js';
import { recordsOfZone } from '../../store/records/records.js';
import {
  type CatalogRow,
  findCatalog,
  type MemberRow,
  membersOfCatalog,
  putMember,
  removeMember,
  zonesForCatalog,
} from '../../store/secondary/catalogs.js';
import type { LinkedPeerRow } from '../../store/secondary/linked-peers.js';
import {
  findOutgoing,
  insertOutgoing,
  peersOfZone,
  setOutgoing,
  setPeersOfZone,
} from '../../store/secondary/outgoing.js';
import { findZone, type ZoneRow } from '../../store/zones/zones.js';
import { isCompactZone } from '../dnssec/switch-denial.js';
import type { Draft } from '../kernel/commit.js';
import type { Context } from '../kernel/context.js';
import { catalogRecords, type Member } from './content.js';

/** Zones that one commit adds. */
const MOST_AT_ONCE = 1000;
/** A zone that goes over to another catalog stays in the old one until its consumers have seen both; microseconds. */
const MOVE_US = 24 * 3_600_000_000;

export interface CatalogOutcome {
  /** Whether there is more to do. */
  readonly isPartial: boolean;
  /** When a move ends; microseconds since 1970. */
  readonly endsAt: number | undefined;
}

export function updateCatalog(ctx: Context, draft: Draft, catalog: CatalogRow): CatalogOutcome {
  const { store } = ctx;
  const zone = findZone(store, catalog.zone)!;
  const wanted = zonesForCatalog(store, catalog);
  const known = new Map(membersOfCatalog(store, catalog.seq).map((member) => [member.zone, member]));
  const belongs = new Set(wanted);
  for (const member of known.values()) {
    if (!belongs.has(member.zone) && member.moved_to === null) removeMember(store, member);
  }
  const peers = peersOfZone(store, catalog.zone);
  let added = 0;
  for (const seq of wanted) {
    if (added === MOST_AT_ONCE) break;
    const linked = catalog.members === 'all' ? link(store, draft, peers, seq) : 'before';
    if (linked === 'refused')
      ctx.log.debug(
        { zone: seq },
        'a zone is not in the catalog: its peers have another key, or it has compact denial',
      );
    else if (!known.has(seq)) addMember(store, catalog, findZone(store, seq)!);
    if (linked === 'now' || (linked === 'before' && !known.has(seq))) added++;
  }
  const ends = showMembers(ctx, draft, zone, membersOfCatalog(store, catalog.seq));
  return { isPartial: added === MOST_AT_ONCE, endsAt: ends };
}

/** Under the identifier of the zone: one that is made anew has another, so that consumers begin anew with it, too. */
function addMember(store: Store, { seq: catalog }: CatalogRow, { seq: zone, id }: ZoneRow): void {
  putMember(store, { catalog, zone, member_id: id, grp: null, moved_to: null, moved_at: null });
}

/**
 * Lets the peers of the catalog transfer the zone. `refused`: its own peers have another key, or no other server can serve it.
 */
function link(store: Store, draft: Draft, peers: readonly LinkedPeerRow[], zone: number): 'now' | 'before' | 'refused' {
  if (isCompactZone(store, zone)) return 'refused';
  const own = peersOfZone(store, zone);
  const missing = peers.filter((peer) => !own.some((known) => known.seq === peer.seq));
  if (missing.length === 0) return 'before';
  if (new Set([...own, ...peers].map(({ tsig }) => tsig)).size > 1) return 'refused';
  if (!findOutgoing(store, zone)) {
    insertOutgoing(store, zone, findZone(store, zone)!.name, lastChange(store), draft.now);
    setOutgoing(store, zone, true, lastChange(store), draft.now);
  }
  const all = [...own, ...missing].map((peer) => peer.seq);
  setPeersOfZone(store, zone, all);
  return 'now';
}

/** Makes the records those of the members; returns when the next move ends. */
function showMembers(ctx: Context, draft: Draft, zone: ZoneRow, members: readonly MemberRow[]): number | undefined {
  const { store, settings } = ctx;
  const shown: Member[] = [];
  const ends: number[] = [];
  for (const member of members) {
    const target = member.moved_to === null ? undefined : findCatalog(store, member.moved_to);
    const endsAt = (member.moved_at ?? 0) + MOVE_US;
    if (target && endsAt <= draft.now) continue;
    if (target) ends.push(endsAt);
    shown.push({ ...member, movesTo: target && findZone(store, target.zone)?.name });
  }
  const wanted = new Map(catalogRecords(zone, shown, settings.limits).map((row) => [nameOf(row), row]));
  for (const row of [...recordsOfZone(store, zone.seq)]) if (!wanted.delete(nameOf(row))) draft.removeRecord(row);
  const times = { created_at: draft.now, modified_at: draft.now, comment_modified_at: null, tags_modified_at: null };
  for (const row of wanted.values()) {
    const id = makeId(ctx.clock.nowUs(), ctx.random);
    draft.insertRecord({ ...row, ...times, id, zone: zone.seq, private_routing: null });
  }
  return ends.length === 0 ? undefined : Math.min(...ends);
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
