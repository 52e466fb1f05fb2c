/**
 * DS records in parent zones that are served here (RFC 7344, RFC 8078). A parent zone whose owner allows it has those that the
 * CDS records of the zones below it ask for. Both belong to the same account, which is how it is known that the child may ask
 * (RFC 8078 §3.1).
 */

import { equalBytes, toHex } from '../../base/bytes.js';
import { Type } from '../../dns/codes.js';
import { ownerKeyOf, parentName } from '../../dns/name.js';
import { typeByCode } from '../../dns/rr/registry.js';
import { schedule } from '../../jobs/schedule.js';
import { locate } from '../../serving/look-up.js';
import { findZoneFor } from '../../serving/name-owner.js';
import { servedAtOwner } from '../../serving/owner.js';
import { findSignedHere, isSignedElsewhere } from '../../serving/signing.js';
import { type ServingSettings, servingZone } from '../../serving/zone.js';
import { isAnswered } from '../../serving/zone-state.js';
import { allDnssecZones, findDnssecZone, updateDnssecZone } from '../../store/dnssec/zones.js';
import { type RecordRow, recordsOfOwner } from '../../store/records/records.js';
import { findZone, type ZoneRow } from '../../store/zones/zones.js';
import type { Context } from '../kernel/context.js';
import type { Draft } from '../kernel/draft.js';
import { createRow, deleteRow } from '../records/write.js';
import { PARENT_JOB } from '../schedule/signing.js';
import { dnssecFailure } from './errors.js';
import { APEX } from './signing/chain.js';

/** TTL of DS records that stand where there were none, seconds. */
const DS_TTL = 3600;
const COMMENT = 'from the CDS records of the zone (RFC 7344)';
/** Jobs that look at the zones below begin one after the other. */
const SPREAD_MS = 50;

type Served = Pick<Context, 'store'> & { readonly settings: ServingSettings };

/** Lets a zone take the DS records of the zones below it, or no longer, which leaves those that it has. Inside a commit. */
export function setParentalAgent(ctx: Context, draft: Draft, zone: ZoneRow, wanted: boolean): void {
  const { store } = ctx;
  const row = findDnssecZone(store, zone.seq);
  if ((row?.parental_agent === 1) === wanted) return;
  if (row?.phase !== 'signed') throw dnssecFailure('agentUnsigned', { zone: zone.name });
  if (zone.type === 'secondary') throw dnssecFailure('agentSecondary', { zone: zone.name });
  updateDnssecZone(store, zone.seq, { parental_agent: wanted ? 1 : 0, modified_at: draft.now });
  draft.event({ kind: 'dnssec.edit', zone, after: { parental_agent: wanted } });
  if (wanted) lookAtZonesBelow(ctx, zone);
}

/** The jobs of the zones below bring their DS records. */
function lookAtZonesBelow({ store, settings, clock }: Context, parent: ZoneRow): void {
  const nowMs = clock.nowMs();
  const below = allDnssecZones(store).flatMap(({ zone: seq }) => {
    const zone = findZone(store, seq)!;
    return delegationHere({ store, settings }, zone)?.parent.seq === parent.seq ? [zone] : [];
  });
  below.forEach(({ id }, i) => {
    schedule(store, { kind: PARENT_JOB, subject: toHex(id), runAtMs: nowMs + i * SPREAD_MS }, nowMs);
  });
}

/** The delegation of a zone in a parent zone that is served here. */
export interface DelegationHere {
  readonly parent: ZoneRow;
  readonly ds: readonly RecordRow[];
}

/** Undefined when no zone here delegates it. */
export function delegationHere({ store, settings }: Served, { apex, account }: ZoneRow): DelegationHere | undefined {
  const parent = findZoneFor(store, parentName(apex), account);
  if (!parent) return undefined;
  // Below another delegation, the zone is none of this parent's.
  const located = locate(store, servingZone(store, parent, settings), apex, Type.ds);
  if (located.kind !== 'name' || !located.records.some(({ type }) => type === Type.ns)) return undefined;
  const records = recordsOfOwner(store, parent.seq, ownerKeyOf(apex, parent.apex));
  return { parent, ds: records.filter(({ type }) => type === Type.ds) };
}

/** The same if the parent may take its DS records from the zone, which needs them to belong to one account. */
function delegationAllowed(ctx: Served, zone: ZoneRow): DelegationHere | undefined {
  const here = delegationHere(ctx, zone);
  return here?.parent.account === zone.account && here.parent.type !== 'secondary' ? here : undefined;
}

/** The same if the parent does take them. */
export function delegationTaken(ctx: Served, zone: ZoneRow): DelegationHere | undefined {
  const here = delegationAllowed(ctx, zone);
  return here && findSignedHere(ctx.store, here.parent.seq)?.parental_agent === 1 ? here : undefined;
}

/** A parent zone that would take the DS records of a zone, if it were allowed to. */
export interface WillingParent {
  readonly name: string;
  /** Only signed zones take DS records. */
  readonly signed: boolean;
}

/** Undefined when no parent here may take them, and when one does. */
export function willingParent(ctx: Served, zone: ZoneRow): WillingParent | undefined {
  const parent = delegationAllowed(ctx, zone)?.parent;
  const row = parent && findDnssecZone(ctx.store, parent.seq);
  if (!parent || isSignedElsewhere(row) || row?.parental_agent === 1) return undefined;
  return { name: parent.name, signed: row?.phase === 'signed' };
}

/**
 * Rdata of the DS records for which a zone asks with its CDS records; none: its DS records are to be removed (RFC 8078 §4).
 * Undefined when it asks for nothing: it is not signed, or signed elsewhere, or resolvers do not know its keys yet.
 */
export function wantedDs({ store, settings }: Served, zone: ZoneRow): readonly Uint8Array[] | undefined {
  if (!isAnswered(zone) || !findSignedHere(store, zone.seq)) return undefined;
  const { rrsets } = servedAtOwner(store, servingZone(store, zone, settings), APEX);
  const rdatas = rrsets.find(({ type }) => type === Type.cds)?.rdatas;
  // Algorithm 0 is that of the delete form.
  return rdatas?.some((rdata) => rdata[2] === 0) ? [] : rdatas;
}

/** Whether DS records are those that are wanted. */
export function isSameDs(ds: readonly Pick<RecordRow, 'rdata'>[], wanted: readonly Uint8Array[]): boolean {
  return ds.length === wanted.length && wanted.every((rdata) => ds.some((row) => equalBytes(row.rdata, rdata)));
}

/** Whether the parent of a zone has what it takes from it. */
export function isParentCurrent(ctx: Context, zone: ZoneRow | undefined): boolean {
  const here = zone && delegationTaken(ctx, zone);
  const wanted = here && wantedDs(ctx, zone);
  return !here || !wanted || isSameDs(here.ds, wanted);
}

/**
 * Gives the parent of a zone the DS records that it takes from it. Inside a commit of its own, because the parent's keys are
 * needed.
 */
export function updateParent(ctx: Context, draft: Draft, zone: ZoneRow | undefined): void {
  const here = zone && delegationTaken(ctx, zone);
  const wanted = here && wantedDs(ctx, zone);
  if (!here || !wanted) return;
  const { parent, ds } = here;
  for (const row of ds) if (!wanted.some((rdata) => equalBytes(rdata, row.rdata))) deleteRow(draft, parent, row);
  const { minimumTtl, maximumTtl } = ctx.settings.limits;
  const known = ds[0]?.ttl ?? DS_TTL;
  // One that came with a zone file may be outside of the limits.
  const ttl = known >= minimumTtl && known <= maximumTtl ? known : DS_TTL;
  const type = typeByCode(Type.ds);
  for (const rdata of wanted) {
    if (ds.some((row) => equalBytes(row.rdata, rdata))) continue;
    const content = type.contentOf(rdata);
    createRow(ctx, draft, parent, { type: type.mnemonic, name: zone.name, content, ttl, comment: COMMENT });
  }
}
