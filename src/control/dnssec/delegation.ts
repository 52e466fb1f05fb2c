/** Use cases of a zone's DNSSEC: turning it on and off, its keys (v4: §9). */
import type { NewKeyAlgorithm } from '../../dnssec/signing-key.js';
import type { ParentServerDs } from '../../resolver/parent-ds.js';
import { findSignedHere, findSigning, isSignedElsewhere } from '../../serving/signing.js';
import { type ParentRow, putParent, removeParent } from '../../store/dnssec/parents.js';
import {
  type DenialKind,
  type DnssecState,
  type DnssecZoneRow,
  findDnssecZone,
  updateDnssecZone,
} from '../../store/dnssec/zones.js';
import type { Store } from '../../store/driver.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import { requireWriter, requireZone } from '../guard/access.js';
import { commit, type Draft } from '../kernel/commit.js';
import type { Context } from '../kernel/context.js';
import type { MadeSignatures } from '../kernel/zone-keys.js';
import { lookAtParentSoon, MOST_AT_ONCE } from '../schedule/signing.js';
import { beginSigning, endSigning, type FirstSignatures, planSigning, resignSoon } from './enable.js';
import { dnssecFailure } from './errors.js';
import type { DnssecItem, KeyItem } from './item.js';
import { keyItems } from './key-steps.js';
import { requireNoForeignKeys, requireNoKeys, setMultiSigner } from './multi-signer.js';
import { agreedDs, noteParent, parentOf, removalTime, stateByParent } from './parent.js';
import { setParentalAgent } from './parental-agent.js';
import { signDenial } from './plan-signatures.js';
import { setSignals } from './signals.js';
import { APEX } from './signing/chain.js';
import { inceptionAt } from './signing/times.js';
import { changeDenial, isCompactZone } from './switch-denial.js';

export interface DnssecEdit {
  readonly status?: 'active' | 'disabled' | null | undefined;
  readonly dnssec_multi_signer?: boolean | null | undefined;
  readonly dnssec_presigned?: boolean | null | undefined;
  readonly dnssec_use_nsec3?: boolean | null | undefined;
  readonly denial?: DenialKind | null | undefined;
  /** Whether the zone tells of the keys of others (RFC 9615). */
  readonly dnssec_signals?: boolean | null | undefined;
  /** Whether the zone takes the DS records of the zones below it from their CDS records (RFC 7344). */
  readonly dnssec_parental_agent?: boolean | null | undefined;
  /** Of new keys. */
  readonly algorithm?: NewKeyAlgorithm | undefined;
}

export async function getDnssec(ctx: Context, zoneId: string): Promise<DnssecItem> {
  return ctx.store.snapshot(() => dnssecItem(ctx, requireZone(ctx, zoneId)));
}

export async function listKeys(
  ctx: Context,
  zoneId: string,
): Promise<{ readonly zone: string; readonly keys: readonly KeyItem[] }> {
  return ctx.store.snapshot(() => {
    const zone = requireZone(ctx, zoneId);
    const row = findDnssecZone(ctx.store, zone.seq);
    return { zone: zone.name, keys: row ? keyItems(ctx.store, zone, row, ctx.clock.nowUs()) : [] };
  });
}

/** PATCH: members that are absent stay. */
export async function editDnssec(ctx: Context, zoneId: string, edit: DnssecEdit): Promise<DnssecItem> {
  const { status, dnssec_multi_signer: multiSigner, dnssec_presigned: presigned, dnssec_use_nsec3: hashed } = edit;
  const { dnssec_signals: signals, dnssec_parental_agent: agent } = edit;
  const servers = status === 'disabled' ? await askParent(ctx, requireZone(ctx, zoneId)) : undefined;
  const requestedDenial = (zone: ZoneRow): DenialKind | undefined =>
    edit.denial ?? (hashed == null ? undefined : hashed ? 'nsec3' : unhashed(ctx.store, zone));
  const first = status === 'active' ? await planFirst(ctx, zoneId, edit) : undefined;
  const signatures = first ? first.signatures : await planDenial(ctx, zoneId, requestedDenial);
  const { value } = await commit({ ...ctx, signatures }, (draft) => {
    const zone = requireZone(ctx, zoneId);
    const denial = requestedDenial(zone);
    const needsKeys = status === 'disabled' || denial !== undefined || [multiSigner, signals, agent].includes(true);
    const isHeld = refusePresigned(ctx, zone, presigned, needsKeys);
    if (status === 'active' && !isHeld) activate(ctx, draft, zone, edit, first);
    if (status === 'disabled') deactivate(ctx, draft, zone, servers);
    if (denial) changeDenial(ctx, draft, zone, denial);
    if (multiSigner != null && !isHeld) setMultiSigner(ctx.store, draft, zone, multiSigner);
    if (signals != null && !isHeld) setSignals(ctx, draft, zone, signals);
    if (agent != null && !isHeld) setParentalAgent(ctx, draft, zone, agent);
    return dnssecItem(ctx, zone);
  });
  return value;
}

/** The signatures of a zone that may begin to be signed. */
async function planFirst(
  ctx: Context,
  zoneId: string,
  { algorithm }: DnssecEdit,
): Promise<FirstSignatures | undefined> {
  requireWriter(ctx.actor);
  const zone = requireZone(ctx, zoneId);
  return findDnssecZone(ctx.store, zone.seq) ? undefined : planSigning(ctx, zone, algorithm);
}

/** The signatures of a small zone that proves absence in another way. */
async function planDenial(
  ctx: Context,
  zoneId: string,
  requested: (zone: ZoneRow) => DenialKind | undefined,
): Promise<MadeSignatures | undefined> {
  requireWriter(ctx.actor);
  const zone = requireZone(ctx, zoneId);
  const kind = requested(zone);
  const isSmall = zone.record_count <= MOST_AT_ONCE;
  return kind && isSmall ? signDenial(ctx, zone, kind) : undefined;
}

/** How absence is proven without NSEC3. A client that knows nothing of compact denial leaves it as it is. */
function unhashed(store: Store, { seq }: ZoneRow): DenialKind {
  return isCompactZone(store, seq) ? 'compact' : 'nsec';
}

/**
 * Whether a zone is signed elsewhere. Refuses to make it so, or not so, because signatures come and go with the records; and
 * what needs its keys.
 */
function refusePresigned(
  { store }: Context,
  { seq, name }: ZoneRow,
  presigned: boolean | null | undefined,
  needsKeys: boolean,
): boolean {
  const isPresigned = findSigning(store, seq).kind === 'elsewhere';
  if (presigned && !isPresigned) throw dnssecFailure('presigned');
  if (isPresigned && (presigned === false || needsKeys)) throw dnssecFailure('presignedKeys', { zone: name });
  return isPresigned;
}

/**
 * Begins signing, or takes back that it was to end; the keys stay the same. Only a zone with several signers begins with DNSKEY
 * records of others.
 */
function activate(
  ctx: Context,
  draft: Draft,
  zone: ZoneRow,
  { algorithm, dnssec_multi_signer: multiSigner }: DnssecEdit,
  first: FirstSignatures | undefined,
): void {
  const { store } = ctx;
  const row = findDnssecZone(store, zone.seq);
  if (row?.phase === 'unsigning') throw dnssecFailure('unsigning');
  if (!row && !multiSigner) requireNoKeys(store, zone);
  if (!row) beginSigning(ctx, draft, zone, { ...(algorithm && { algorithm }), made: first?.made });
  else if (row.state === 'pending-disabled' || row.state === 'disabled') {
    setState(ctx, draft, zone, 'pending');
    putParent(store, { ...parentOf(store, zone.seq), remove_at: null });
  }
  lookAtParentSoon(ctx, zone);
}

/** A zone whose parent surely has no DS record is disabled at once; others wait until it is gone. */
function deactivate(ctx: Context, draft: Draft, zone: ZoneRow, servers: readonly ParentServerDs[] | undefined): void {
  const { store } = ctx;
  const row = findDnssecZone(store, zone.seq);
  if (!row || row.phase === 'unsigning' || row.state === 'disabled') return;
  const parent = noteParent(store, zone.seq, servers, draft.now);
  setState(ctx, draft, zone, lacksDs(row, parent, servers) ? 'disabled' : 'pending-disabled');
  lookAtParentSoon(ctx, zone);
}

/** Where nothing can be found out, a DS record that nobody ever saw counts as absent; signatures stay for a while. */
function lacksDs(row: DnssecZoneRow, parent: ParentRow, servers: readonly ParentServerDs[] | undefined): boolean {
  const agreed = agreedDs(parent);
  return agreed ? agreed.length === 0 : !servers?.length && row.ds_seen_at === null;
}

/** CDS and CDNSKEY ask for the removal of the DS records while a zone is being disabled (RFC 8078 §4). */
export function setState({ store }: Context, draft: Draft, zone: ZoneRow, state: DnssecState): void {
  const before = findDnssecZone(store, zone.seq)!;
  const deleteForm = state === 'pending-disabled' || state === 'disabled' ? 1 : 0;
  if (before.delete_form !== deleteForm) draft.noteSigning(zone.seq, { owners: [APEX] });
  updateDnssecZone(store, zone.seq, { state, delete_form: deleteForm, modified_at: draft.now });
  draft.event({
    kind: 'dnssec.edit',
    zone,
    before: { status: before.state },
    after: { status: state },
  });
}

/**
 * Removes keys and signatures, as soon as no resolver has a DS record any more. The parent must have none; until then the
 * zone has to stay signed.
 */
export async function deleteDnssec(ctx: Context, zoneId: string): Promise<void> {
  const servers = await askParent(ctx, requireZone(ctx, zoneId));
  await commit(ctx, (draft) => {
    const zone = requireZone(ctx, zoneId);
    const row = findDnssecZone(ctx.store, zone.seq);
    if (!row || row.phase === 'unsigning') return;
    refusePresigned(ctx, zone, undefined, true);
    requireNoForeignKeys(ctx.store, zone);
    const parent = noteParent(ctx.store, zone.seq, servers, draft.now);
    const status = stateByParent(ctx.store, zone, row, parent);
    // Who has not given the DS record to the parent yet needs no step in between; Terraform's destroy takes none.
    if (status === 'pending' && lacksDs(row, parent, servers)) setState(ctx, draft, zone, 'disabled');
    else if (status !== 'disabled') throw dnssecFailure('stillEnabled', { status });
    const removeAt = removalTime(row, parent, draft.now);
    if (removeAt <= draft.now) {
      endSigning(ctx, draft, zone);
      removeParent(ctx.store, zone.seq);
      return;
    }
    putParent(ctx.store, { ...parent, remove_at: removeAt });
    draft.event({ kind: 'dnssec.delete', zone });
    lookAtParentSoon(ctx, zone);
  });
}

/** Asks the servers of the parent of a signed zone, see FindParentDs. */
export async function askParent(
  { store, findParentDs }: Context,
  { seq, name, account }: ZoneRow,
): Promise<readonly ParentServerDs[] | undefined> {
  return findParentDs && findDnssecZone(store, seq) ? findParentDs(name, account) : [];
}

function dnssecItem({ store, clock }: Context, zone: ZoneRow): DnssecItem {
  const { seq, name } = zone;
  const row = findDnssecZone(store, seq);
  const isGone = !row || row.phase === 'unsigning' || parentOf(store, seq).remove_at !== null;
  const keys = row ? keyItems(store, zone, row, clock.nowUs()) : [];
  const entryKeys = keys.filter(({ ds, state }) => ds !== undefined && state !== 'external');
  const isPresigned = isSignedElsewhere(row);
  return {
    zone: name,
    status: isGone ? 'disabled' : row.state,
    // The newest one that the parent is to have.
    key: isGone || isPresigned ? undefined : (entryKeys.findLast(({ state }) => state === 'active') ?? entryKeys[0]),
    modifiedAt: isGone ? undefined : row.modified_at,
    multiSigner: row?.multi_signer === 1,
    presigned: isPresigned,
    signals: row?.signals === 1,
    parentalAgent: row?.parental_agent === 1,
    denial: isGone ? undefined : (row.next_denial ?? row.denial),
  };
}

/** Replaces all signatures of a zone, a part at a time: what the operator asks for when the clock was wrong. */
export async function resignZone(ctx: Context, zoneId: string): Promise<void> {
  await commit(ctx, (draft) => {
    const zone = requireZone(ctx, zoneId);
    const row = findSignedHere(ctx.store, zone.seq);
    if (!row) throw dnssecFailure('notSignedHere', { zone: zone.name });
    const renew_before = inceptionAt(Math.floor(ctx.clock.nowMs() / 1000));
    updateDnssecZone(ctx.store, zone.seq, { renew_before });
    resignSoon(ctx, zone);
    draft.event({ kind: 'dnssec.resign', zone });
  });
}
