/**
 * Use cases of certificate packs (v4: §10.9): the universal certificate of a zone, and certificates ordered for its
 * names.
 */
import { toHex, uuidOctets } from '../../base/bytes.js';
import { updateCertifiedNames } from '../../control/certificates/certified-names.js';
import { dropRequest } from '../../control/certificates/drop.js';
import { countIssuance, lockedOut, orderTimeMs } from '../../control/certificates/issuance-limit.js';
import { requireZone } from '../../control/guard/access.js';
import { commit, type Draft } from '../../control/kernel/commit.js';
import type { Context } from '../../control/kernel/context.js';
import { findRequestById, type RequestRow, zonesOwnRequests } from '../../store/certs/requests.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import { type CertificateState, stateOf } from '../certificate-state.js';
import { type CertificateOwner, putCertificateRequest, refreshCertificate } from '../certificates.js';
import { dcvTarget } from '../dcv-delegation.js';
import { whenDeployed } from '../deployment.js';
import { advanceCertificate } from '../issuance/advance.js';
import type { CertificateContext } from '../issuance/context.js';
import { packFailure } from './errors.js';
import { type PackInput, parseOrder, requireMethod } from './order-input.js';

export interface PackContext extends Context {
  readonly certificates: CertificateContext;
}

export interface PackItem {
  /** UUID. */
  readonly id: string;
  readonly type: 'universal' | 'advanced';
  readonly hosts: readonly string[];
  /** `pending_deletion`: its certificates are being revoked. */
  readonly status: CertificateState['status'] | 'pending_deletion';
  readonly state: CertificateState;
  /** The target for delegated validation, for each name without a wildcard. */
  readonly delegations: readonly { readonly cname: string; readonly target: string }[];
}

/** The largest number of ordered packs in one zone. */
const QUOTA = 100;
/** How long a request waits for the first steps, milliseconds. */
const BUDGET_MS = 2000;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** `all`: includes packs that serve nothing yet or any more. The universal one comes first. */
export async function listPacks(ctx: Context, zoneId: string, { all }: { readonly all: boolean }): Promise<PackItem[]> {
  return ctx.store.snapshot(() => {
    const zone = requireZone(ctx, zoneId);
    const items = packRows(ctx, zone).map((row) => itemOf(ctx, zone, row));
    const shown = all ? items : items.filter(({ status, state }) => status !== 'pending_deletion' && state.serving);
    return shown.sort((a, b) => Number(b.type === 'universal') - Number(a.type === 'universal'));
  });
}

function packRows({ store }: Context, { seq }: ZoneRow): readonly RequestRow[] {
  return zonesOwnRequests(store, seq);
}

function itemOf({ store, clock }: Context, zone: ZoneRow, row: RequestRow): PackItem {
  const state = stateOf(store, row, clock.nowMs());
  const bases = new Set(state.names.map((name) => name.replace(/^\*\./, '')));
  return {
    id: row.id,
    type: row.owner === toHex(zone.id) ? 'universal' : 'advanced',
    hosts: state.names,
    status: row.dropped_at === null ? state.status : 'pending_deletion',
    state,
    delegations: [...bases].map((host) => ({ cname: `_acme-challenge.${host}`, target: dcvTarget(zone, host) })),
  };
}

export async function getPack(ctx: Context, zoneId: string, id: string): Promise<PackItem> {
  return ctx.store.snapshot(() => {
    const zone = requireZone(ctx, zoneId);
    return itemOf(ctx, zone, requirePack(ctx, zone, id));
  });
}

function requirePack({ store }: Context, zone: ZoneRow, id: string): RequestRow {
  const row = UUID.test(id.toLowerCase()) ? findRequestById(store, id.toLowerCase()) : undefined;
  if (row?.zone !== zone.seq || row.owner_kind !== 'zone') throw packFailure('missing');
  return row;
}

/** A pack that is not being deleted. */
function requireLastingPack(ctx: Context, zone: ZoneRow, id: string): RequestRow {
  const row = requirePack(ctx, zone, id);
  if (row.dropped_at !== null) throw packFailure('missing');
  return row;
}

/** During a lockout the body is not read. Throws an IssuanceRefused above the limit. */
export async function orderPack(ctx: PackContext, zoneId: string, input: () => Promise<PackInput>): Promise<PackItem> {
  const { store, clock, random } = ctx;
  const refused = lockedOut(store, requireZone(ctx, zoneId).account, clock.nowMs());
  if (refused) throw refused;
  const order = parseOrder(await input(), requireZone(ctx, zoneId).name);
  const { value } = await commit(ctx, (draft) => {
    const zone = requireZone(ctx, zoneId);
    const { used } = quotaOf(ctx, zone);
    if (used >= QUOTA) throw packFailure('quota', { quota: QUOTA });
    const limit = countIssuance(store, zone.account, clock.nowMs());
    // The lockout must be stored, so the caller throws.
    if (limit) return { limit };
    const owner: CertificateOwner = { kind: 'zone', id: random.uuid() };
    putCertificateRequest(ctx, owner, {
      names: order.hosts,
      method: order.method,
      authority: order.authority,
      validityDays: order.validityDays,
      zone: zone.seq,
    });
    const row = packRows(ctx, zone).find((candidate) => candidate.owner === owner.id)!;
    audit(draft, zone, row, 'create', { after: auditView(row) });
    return { made: itemOf(ctx, zone, row) };
  });
  if (value.limit) throw value.limit;
  return advanceAndGet(ctx, zoneId, value.made);
}

function auditView({ names, method, authority, validity_days }: RequestRow): object {
  return { hosts: JSON.parse(names), validation_method: method, certificate_authority: authority, validity_days };
}

function audit(
  draft: Draft,
  zone: ZoneRow,
  row: RequestRow,
  verb: 'create' | 'edit' | 'delete',
  told: { before?: object; after?: object },
): void {
  draft.event({
    kind: `certificate_pack.${verb}`,
    zone,
    id: uuidOctets(row.id),
    name: (JSON.parse(row.names) as string[]).join(', '),
    ...told,
  });
}

/** Runs the first steps, as far as they finish within a request's time. */
async function advanceAndGet(ctx: PackContext, zoneId: string, item: PackItem): Promise<PackItem> {
  if (ctx.dryRun) return item;
  const row = findRequestById(ctx.store, item.id);
  if (row) await advanceCertificate(ctx.certificates, { kind: row.owner_kind, id: row.owner }, BUDGET_MS);
  await whenDeployed(ctx.store);
  return getPack(ctx, zoneId, item.id);
}

/**
 * Checks validation at once; what timed out starts again. `method`: another way to prove control; undefined: unchanged.
 */
export async function restartPack(
  ctx: PackContext,
  zoneId: string,
  id: string,
  method?: 'http' | 'txt',
): Promise<PackItem> {
  const { store, clock } = ctx;
  const { value } = await commit(ctx, (draft) => {
    const zone = requireZone(ctx, zoneId);
    const row = requireLastingPack(ctx, zone, id);
    const owner = { kind: row.owner_kind, id: row.owner };
    const notBeforeMs = orderTimeMs(store, zone.account, clock.nowMs());
    if (method === undefined) refreshCertificate(ctx, owner, notBeforeMs);
    else {
      const { names: text, authority, validity_days: validityDays } = row;
      const names: readonly string[] = JSON.parse(text);
      requireMethod(method, names);
      const wanted = { names, method, authority: authority as '', validityDays };
      putCertificateRequest(ctx, owner, { ...wanted, zone: zone.seq, notBeforeMs });
    }
    const after = findRequestById(store, row.id)!;
    audit(draft, zone, row, 'edit', { before: auditView(row), after: auditView(after) });
    return itemOf(ctx, zone, after);
  });
  return advanceAndGet(ctx, zoneId, value);
}

/** Deletes the pack. Its certificates are revoked and its keys removed soon after. */
export async function deletePack(ctx: Context, zoneId: string, id: string): Promise<{ readonly id: string }> {
  const { value } = await commit(ctx, (draft) => {
    const zone = requireZone(ctx, zoneId);
    const row = requireLastingPack(ctx, zone, id);
    if (row.owner === toHex(zone.id)) throw packFailure('universal');
    dropRequest(ctx, row);
    updateCertifiedNames(ctx, draft, zone.seq);
    audit(draft, zone, row, 'delete', { before: auditView(row) });
    return { id: row.id };
  });
  return value;
}

export interface PackQuota {
  readonly allocated: number;
  readonly used: number;
}

export async function getPackQuota(ctx: Context, zoneId: string): Promise<PackQuota> {
  return quotaOf(ctx, requireZone(ctx, zoneId));
}

function quotaOf(ctx: Context, zone: ZoneRow): PackQuota {
  const universal = toHex(zone.id);
  const used = packRows(ctx, zone).filter(({ owner, dropped_at }) => owner !== universal && dropped_at === null).length;
  return { allocated: QUOTA, used };
}
