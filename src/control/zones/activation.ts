/** When a zone becomes active, and what is looked at to know whose its name is (v4: §3.2, docs/tenants.md). */

import { printIP } from '../../base/ip.js';
import { Type } from '../../dns/codes.js';
import { ownerKeyOf, parseName } from '../../dns/name.js';
import type { UpstreamAnswer, UpstreamType } from '../../resolver/upstream.js';
import {
  type ClaimedName,
  cutBetween,
  findZoneFor,
  isProven,
  leadsTo,
  nearestProvenAbove,
  zonesOfOthersAt,
} from '../../serving/name-owner.js';
import type { Store } from '../../store/driver.js';
import { recordsOfOwner } from '../../store/records/records.js';
import { findZone, type NameProof, type ZoneRow } from '../../store/zones/zones.js';
import { requireWriter, requireZone } from '../guard/access.js';
import { accountFailure } from '../guard/account-failures.js';
import { commitAndRead, type Draft } from '../kernel/commit.js';
import type { Context } from '../kernel/context.js';
import { activate, activationRule, proofAtHand, prove, settleClaims, settleZone } from './claims.js';
import { type ZoneItem, zoneItem } from './item.js';
import { type ProofRecord, proofRecord } from './proof-record.js';
import { refuseHeld, servedZoneAbove } from './write.js';

/** What a look for proofs found; `unknown`: nobody could be asked, which says nothing. */
export type Evidence = NameProof | 'none' | 'unknown';
type RecordEvidence = 'txt' | 'none' | 'unknown';

/**
 * Looks for a proof again and activates the zone when there is one; returns the zone. A zone with the same name in another
 * account whose proof is weaker is marked as moved (v4: §3.2). A name that another account holds is refused (v4: §4). A
 * request by an administrator proves the name, except with activation 'delegation'.
 */
export async function checkActivation(ctx: Context, zoneId: string): Promise<ZoneItem> {
  requireWriter(ctx.actor);
  const zone = requireZone(ctx, zoneId);
  if (zone.status !== 'active') refuseHeld(ctx, ctx.clock.nowUs(), zone);
  if (zone.status === 'active' && isProven(zone)) return zoneItem(ctx, zone);
  const isBelieved = ctx.settings.activation !== 'delegation' && proofAtHand(ctx, zone) !== undefined;
  const evidence = isBelieved ? proofAtHand(ctx, zone)! : await lookForProof(ctx, zone);
  return zoneItem(ctx, await judge(ctx, zone, evidence));
}

/** The operator says that the name is the account's. Another account's claim that has the same word stays. */
export async function proveByOperator(ctx: Context, zoneId: string): Promise<ZoneItem> {
  if (!ctx.actor.superAdministrator) throw accountFailure('notAllowed');
  return zoneItem(ctx, await judge(ctx, requireZone(ctx, zoneId), 'operator'));
}

/** Stores what a look found, in a commit of its own; returns the zone. `guard`: called inside; throws if it must not happen. */
export async function judge(
  ctx: Context,
  { id, seq }: ZoneRow,
  evidence: Evidence,
  guard?: () => void,
): Promise<ZoneRow> {
  const work = (draft: Draft): number => {
    guard?.();
    const zone = findZone(ctx.store, seq);
    if (zone && Buffer.compare(zone.id, id) === 0) weigh(ctx, draft, zone, evidence);
    return seq;
  };
  return (await commitAndRead(ctx, work, (number) => findZone(ctx.store, number)!)).value;
}

function weigh(ctx: Context, draft: Draft, zone: ZoneRow, evidence: Evidence): void {
  if (zone.status !== 'active') refuseHeld(ctx, draft.now, zone);
  if (evidence === 'none' || evidence === 'unknown') {
    if (!isProven(zone)) believe(ctx, draft, zone);
    else if (evidence === 'none') noteLoss(draft, zone);
    return;
  }
  const isContested = zonesOfOthersAt(ctx.store, zone).some(({ status }) => status === 'active');
  if (!prove(ctx, draft, zone, evidence)) return;
  activate(draft, zone);
  settleZone(ctx, draft, zone.seq);
  // It is looked for every day, and others may have made very many zones below the name.
  if (isContested || !isUnchanged(zone, findZone(ctx.store, zone.seq)!)) settleClaims(ctx, draft, zone);
}

function isUnchanged(before: ZoneRow, after: ZoneRow): boolean {
  return (
    before.status === after.status &&
    before.served === after.served &&
    before.proven_by === after.proven_by &&
    before.proof_lost_at === after.proof_lost_at
  );
}

/** A proof that was found before is not there any more. */
function noteLoss(draft: Draft, zone: ZoneRow): void {
  if (zone.proven_by === 'operator' || zone.proof_lost_at !== null) return;
  draft.setZone(zone.seq, { proof_lost_at: draft.now });
}

/** Who comes first is believed, if the installation wants that and no other account speaks against it. */
function believe(ctx: Context, draft: Draft, zone: ZoneRow): void {
  if (zone.status === 'active' || activationRule(ctx) !== 'first come') return;
  if (!prove(ctx, draft, zone, 'trust')) return;
  settleZone(ctx, draft, zone.seq);
  const claimed = findZone(ctx.store, zone.seq)!;
  if (claimed.proven_by === null) return;
  activate(draft, claimed);
  settleClaims(ctx, draft, claimed);
}

/** Asks the parent, here or outside, and then for the TXT record. */
export async function lookForProof(ctx: Context, zone: ZoneRow): Promise<Evidence> {
  const pool = ctx.settings.nameServers;
  const above = nearestProvenAbove(ctx.store, zone);
  const cut = above && cutBetween(ctx.store, above, zone);
  // A name that the zone above has given away between them is delegated by others.
  const isDecidedHere = above !== undefined && (!cut || cut.isAtName);
  // Where the operator has said whose name it is, activation 'delegation' asks the parent outside all the same.
  if (isDecidedHere && zone.proven_by !== 'operator') {
    const isOwn = cut ? leadsTo(zone, cut.names, pool) : above.account === zone.account;
    return isOwn ? 'delegation' : hasTxt(ctx.store, above, proofRecord(zone)) ? 'txt' : 'none';
  }
  if (!ctx.findDelegation) return 'unknown';
  const found = await lookOutside(ctx, zone);
  // What our own servers say is what some account wrote: nobody has proven a zone that says it.
  const isProof = found === 'delegation' || found === 'txt';
  return isProof && !isDecidedHere && (await isAnsweredHere(ctx, zone)) ? 'none' : found;
}

async function lookOutside(ctx: Context, zone: ZoneRow): Promise<Evidence> {
  const delegation = await ctx.findDelegation?.(zone.name, zone.account);
  if (delegation && leadsTo(zone, delegation, ctx.settings.nameServers)) return 'delegation';
  if (!ctx.askOutside) return 'none';
  // What our own servers say about the name is what the account wrote itself.
  if (delegation && (await leadsHere(ctx, delegation, zone.account))) return 'none';
  const found = await askForTxt(ctx, proofRecord(zone), zone.account);
  return found === 'unknown' && delegation ? 'none' : found;
}

async function askForTxt(ctx: Context, { name, content }: ProofRecord, account: number): Promise<RecordEvidence> {
  if (!ctx.askOutside) return 'unknown';
  const { status, records } = await ctx.askOutside(name, 'TXT', account);
  if (records.some((record) => record.type === 'TXT' && record.content === content)) return 'txt';
  return status === 'servfail' || status === 'timeout' ? 'unknown' : 'none';
}

/**
 * Whether a TXT record at or below a name proves that the account owns the name. The lookup uses our own proven zone if there is
 * one; otherwise it asks outside, where an answer of our own servers does not count.
 */
export async function lookForRecord(
  ctx: Context,
  { name, account }: ClaimedName,
  record: ProofRecord,
): Promise<RecordEvidence> {
  const zone = findZoneFor(ctx.store, parseName(`${name}.`), undefined);
  if (zone) return hasTxt(ctx.store, zone, record) ? 'txt' : 'none';
  const found = await askForTxt(ctx, record, account);
  return found === 'txt' && (await isAnsweredHere(ctx, { name: record.name, account })) ? 'none' : found;
}

/** Whether the closest zone above a name is answered by servers of the installation. */
async function isAnsweredHere(ctx: Context, { name, account }: ClaimedName): Promise<boolean> {
  if (!ctx.askOutside) return false;
  for (let above = parentOf(name); above !== ''; above = parentOf(above)) {
    const { status, records } = await ctx.askOutside(above, 'NS', account);
    if (status === 'ok') return leadsHere(ctx, contentsOf(records, 'NS'), account);
  }
  return false;
}

function parentOf(name: string): string {
  return name.includes('.') ? name.slice(name.indexOf('.') + 1) : '';
}

function contentsOf(records: UpstreamAnswer['records'], type: UpstreamType): string[] {
  return records.filter((record) => record.type === type).map(({ content }) => content);
}

/** Whether any of these name servers is one of the installation, by its name or by its addresses. */
async function leadsHere(
  { settings, askOutside }: Context,
  delegation: readonly string[],
  account: number,
): Promise<boolean> {
  const names = delegation.map((name) => name.toLowerCase().replace(/\.$/, ''));
  if (names.some((name) => settings.nameServers.includes(name))) return true;
  const addressesOf = async (hosts: readonly string[]): Promise<string[]> => {
    const asked = hosts.flatMap((host) => [askOutside!(host, 'A', account), askOutside!(host, 'AAAA', account)]);
    return (await Promise.all(asked)).flatMap(({ records }) => [
      ...contentsOf(records, 'A'),
      ...contentsOf(records, 'AAAA'),
    ]);
  };
  const ours = new Set([...(await addressesOf(settings.nameServers)), ...settings.nameServerAddresses.map(printIP)]);
  return (await addressesOf(names)).some((address) => ours.has(address));
}

function hasTxt(store: Store, above: ZoneRow, { name, content }: ProofRecord): boolean {
  const rows = recordsOfOwner(store, above.seq, ownerKeyOf(parseName(`${name}.`), above.apex));
  const rdata = Buffer.concat([Buffer.of(content.length), Buffer.from(content)]);
  return rows.some((row) => row.type === Type.txt && Buffer.compare(row.rdata, rdata) === 0);
}

/** The NS records at the zone's name in its parent zone, if that is served here. */
export function delegationHere(store: Store, zone: ZoneRow): readonly string[] {
  const parent = servedZoneAbove(store, zone.name);
  const cut = parent && cutBetween(store, parent, zone);
  return cut?.isAtName ? cut.names : [];
}
