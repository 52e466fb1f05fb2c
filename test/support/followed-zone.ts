/** A copy of what a zone serves that only the change log keeps up to date, as a secondary would. */
import { toHex } from '../../src/base/bytes.js';
import type { Context } from '../../src/control/kernel/context.js';
import { Type } from '../../src/dns/codes.js';
import { copyServed, soaOf } from '../../src/serving/difference.js';
import { servedAtOwner } from '../../src/serving/owner.js';
import { type ServingZone, servingZone } from '../../src/serving/zone.js';
import { type ChangeRow, changesAfter, lastChange, rrsOfChange } from '../../src/store/log/changes.js';
import { findZone, findZoneByName } from '../../src/store/zones/zones.js';
import type { ChangedZone } from './random-changes.js';

export interface FollowedZone extends ChangedZone {
  readonly copy: Map<string, string[]>;
  seen: number;
}

/** Follows a zone from its present state on. */
export function followZone(ctx: Context, apex: string): FollowedZone {
  const { seq, id } = findZoneByName(ctx.store, apex)!;
  const world = { ctx, zoneId: toHex(id), seq, apex, copy: new Map<string, string[]>(), seen: 0 };
  followAnew(world);
  return world;
}

/** Reads the zone anew, as a follower does after a change that is not complete. */
export function followAnew(world: FollowedZone): void {
  world.seen = lastChange(world.ctx.store);
  world.copy.clear();
  for (const [key, lines] of served(world)) world.copy.set(key, lines);
}

export function zoneOf({ ctx, seq }: FollowedZone): ServingZone {
  return servingZone(ctx.store, findZone(ctx.store, seq)!, ctx.settings);
}

export const print = (type: number, seconds: number, rdata: Uint8Array): string =>
  `${type} ${seconds} ${Buffer.from(rdata).toString('hex')}`;

/** Everything served, SOA included, as lines by owner. */
export function served(world: FollowedZone): Map<string, string[]> {
  const zone = zoneOf(world);
  const soa = soaOf(zone);
  const lines = new Map([['', [print(Type.soa, soa.ttl, soa.rdata), ...soaSignatures(world, zone)]]]);
  for (const [key, { rrs }] of copyServed(world.ctx.store, zone)) {
    if (rrs.length === 0) continue;
    const own = rrs.map(({ type, ttl: seconds, rdata }) => print(type, seconds, rdata));
    lines.set(key, [...(lines.get(key) ?? []), ...own]);
  }
  return lines;
}

function soaSignatures({ ctx }: FollowedZone, zone: ServingZone): string[] {
  const { rrsets } = servedAtOwner(ctx.store, zone, new Uint8Array(0));
  const soa = rrsets.find(({ type }) => type === Type.soa);
  return (soa?.signatures ?? []).map((rdata) => print(Type.rrsig, soa!.ttl, rdata));
}

/** Applies a change to the copy as a secondary would; throws when it does not fit. */
function applyChange({ ctx, copy }: FollowedZone, change: ChangeRow): void {
  for (const { op, owner_key: ownerKey, type, ttl: seconds, rdata } of rrsOfChange(ctx.store, change)) {
    const key = Buffer.from(ownerKey).toString('latin1');
    const lines = copy.get(key) ?? [];
    const line = print(type, seconds, rdata);
    const at = lines.indexOf(line);
    if (op === 1) copy.set(key, [...lines, line]);
    else if (at < 0) throw new Error(`change ${change.seq} takes away ${line}, which is not served at ${key}`);
    else if (lines.length === 1) copy.delete(key);
    else copy.set(key, lines.toSpliced(at, 1));
  }
}

const comparable = (lines: ReadonlyMap<string, readonly string[]>): string[] =>
  [...lines].map(([key, list]) => `${key}: ${[...list].sort().join(', ')}`).sort();

export function checkLog(world: FollowedZone): void {
  for (const change of changesAfter(world.ctx.store, world.seen, 1000)) {
    world.seen = change.seq;
    if (change.zone !== world.seq) continue;
    if (change.complete !== 1) throw new Error(`change ${change.seq} (${change.kind}) of a small zone is not complete`);
    applyChange(world, change);
  }
  const [kept, now] = [comparable(world.copy), comparable(served(world))];
  const wrong = [
    ...kept.filter((line) => !now.includes(line)),
    'instead of',
    ...now.filter((line) => !kept.includes(line)),
  ];
  if (wrong.length > 1) throw new Error(`the change log leads to ${wrong.join('\n')}`);
}
