/**
 * Use cases of a bucket's custom domains: names of zones of its account at which the edge shows its objects to the
 * public. Attaching a name makes its record, a proxied {@link NOWHERE}, which nobody else can change. What the name
 * answers follows from both (hostnames/routing/find-route.ts).
 */
import { toHex } from '../base/bytes.js';
import { permitted, requireZone } from '../control/guard/access.js';
import { commit, type Draft } from '../control/kernel/commit.js';
import type { Context } from '../control/kernel/context.js';
import { createRow, deleteRow } from '../control/records/write.js';
import { type RecordName, recordNameIn } from '../control/rules/names.js';
import { isProxiableType, NOWHERE } from '../control/rules/proxiable.js';
import { recordFailure } from '../control/rules/record-failures.js';
import { findAccount } from '../store/access/accounts.js';
import { insertPurge } from '../store/edge/purges.js';
import type { BucketRow, Jurisdiction } from '../store/objects/buckets.js';
import {
  type BucketDomainRow,
  domainsOfBucket,
  findDomainOfBucket,
  hasBucketDomain,
  insertBucketDomain,
  type MinTls,
  removeBucketDomain,
  updateBucketDomain,
} from '../store/objects/domains.js';
import { type RecordRow, recordsOfOwner } from '../store/records/records.js';
import { findZone, type ZoneRow } from '../store/zones/zones.js';
import { requireBucket } from './access.js';
import { bucketFailure } from './errors.js';

/** A bucket as a request names it. */
export interface BucketPlace {
  readonly accountId: string;
  readonly name: string;
  readonly jurisdiction: Jurisdiction;
}

export interface BucketDomainItem {
  readonly domain: string;
  readonly enabled: boolean;
  /** Absent: as the zone's setting says. */
  readonly minTls?: MinTls;
  /** Empty: the usual ones. */
  readonly ciphers: readonly string[];
  readonly zone: { readonly id: string; readonly name: string };
  /** `pending`: the zone is not active yet. `error`: the record is gone, as the zone was replaced by an import. */
  readonly ownership: 'pending' | 'active' | 'error';
}

/** Absent members keep their values; null ones return to their defaults. */
export interface BucketDomainEdit {
  readonly enabled?: boolean | null | undefined;
  readonly minTls?: MinTls | null | undefined;
  readonly ciphers?: readonly string[] | null | undefined;
}

export interface BucketDomainInput extends BucketDomainEdit {
  readonly domain: string;
  readonly zoneId: string;
}

const MOST_DOMAINS = 50;

export async function listBucketDomains(ctx: Context, place: BucketPlace): Promise<BucketDomainItem[]> {
  return ctx.store.snapshot(() => domainsOfBucket(ctx.store, bucketOf(ctx, place).seq).map((row) => itemOf(ctx, row)));
}

export async function getBucketDomain(ctx: Context, place: BucketPlace, domain: string): Promise<BucketDomainItem> {
  return ctx.store.snapshot(() => itemOf(ctx, requireDomain(ctx, bucketOf(ctx, place), domain)));
}

/** The actor must be able to edit records of the zone, too. */
export async function attachBucketDomain(
  ctx: Context,
  place: BucketPlace,
  input: BucketDomainInput,
): Promise<BucketDomainItem> {
  const { value } = await commit(ctx, (draft) => {
    const bucket = bucketOf(ctx, place);
    const zone = requireZone(ctx, input.zoneId);
    if (zone.account !== bucket.account) throw bucketFailure('foreignZone', {}, { pointer: '/zoneId' });
    const { name, ownerKey } = readDomain(input.domain, zone);
    if (hasBucketDomain(ctx.store, name, zone.account)) throw bucketFailure('domainTaken', { domain: name });
    if (domainsOfBucket(ctx.store, bucket.seq).length >= MOST_DOMAINS) {
      throw bucketFailure('tooManyDomains', { limit: MOST_DOMAINS });
    }
    if (leadingRecords(ctx, zone, ownerKey).length > 0) throw recordFailure('hostExists', {}, { pointer: '/domain' });
    createRow(asEditor(ctx, zone), draft, zone, { type: 'AAAA', name: `${name}.`, content: NOWHERE, proxied: true });
    const made = { domain: name, zone: zone.seq, bucket: bucket.seq, created_at: draft.now };
    const row = edited({ ...made, enabled: 1, min_tls: null, ciphers: '[]' }, input);
    insertBucketDomain(ctx.store, row);
    // Responses of an earlier origin or bucket are not shown any more.
    purge(ctx, draft, row);
    draft.event({
      kind: 'bucket_domain.create',
      zone,
      name: row.domain,
      after: { bucket: bucket.name, ...auditView(row) },
    });
    return itemOf(ctx, row);
  });
  return value;
}

export async function editBucketDomain(
  ctx: Context,
  place: BucketPlace,
  domain: string,
  edit: BucketDomainEdit,
): Promise<BucketDomainItem> {
  const { value } = await commit(ctx, (draft) => {
    const bucket = bucketOf(ctx, place);
    const before = requireDomain(ctx, bucket, domain);
    const after = edited(before, edit);
    updateBucketDomain(ctx.store, after);
    const zone = findZone(ctx.store, before.zone)!;
    const told = { before: auditView(before), after: auditView(after) };
    draft.event({ kind: 'bucket_domain.edit', zone, name: before.domain, ...told });
    return itemOf(ctx, after);
  });
  return value;
}

/** Returns the name. Nothing is shown at it from then on, not even from caches. */
export async function detachBucketDomain(ctx: Context, place: BucketPlace, domain: string): Promise<string> {
  const { value } = await commit(ctx, (draft) => {
    const bucket = bucketOf(ctx, place);
    const row = requireDomain(ctx, bucket, domain);
    detach(ctx, draft, bucket, row);
    return row.domain;
  });
  return value;
}

/** Detaches all domains of a bucket that is being deleted. Inside a write. */
export function detachBucketDomains(ctx: Context, draft: Draft, bucket: BucketRow): void {
  for (const row of domainsOfBucket(ctx.store, bucket.seq)) detach(ctx, draft, bucket, row);
}

function detach(ctx: Context, draft: Draft, bucket: BucketRow, row: BucketDomainRow): void {
  const zone = findZone(ctx.store, row.zone)!;
  // The record can be removed only when the name belongs to no bucket any more.
  removeBucketDomain(ctx.store, row);
  for (const record of ownRecords(ctx, zone, row)) deleteRow(draft, zone, record);
  purge(ctx, draft, row);
  draft.event({
    kind: 'bucket_domain.delete',
    zone,
    name: row.domain,
    before: { bucket: bucket.name, ...auditView(row) },
  });
}

/** The bucket, if the actor may see its account. */
function bucketOf(ctx: Context, { accountId, name, jurisdiction }: BucketPlace): BucketRow {
  return requireBucket(ctx, accountId, name, jurisdiction);
}

function requireDomain({ store }: Context, { seq }: BucketRow, domain: string): BucketDomainRow {
  const row = findDomainOfBucket(store, seq, domain.toLowerCase().replace(/\.$/, ''));
  if (!row) throw bucketFailure('domainMissing', { domain: domain.slice(0, 255) });
  return row;
}

/** Making a bucket public at a name creates a record, so the permission for records is needed as well. Throws 403. */
function asEditor(ctx: Context, zone: ZoneRow): Context {
  const account = toHex(findAccount(ctx.store, zone.account)!.id);
  return { ...ctx, actor: permitted(ctx.actor, 'dns', 'write', { account, zone: toHex(zone.id) }) };
}

function readDomain(text: string, zone: ZoneRow): RecordName {
  const refuse = (reason: string): Error => bucketFailure('badDomain', { reason }, { pointer: '/domain' });
  const absolute = text.trim().replace(/\.?$/, '.');
  const name = absolute === '.' ? undefined : recordNameIn(absolute, zone);
  if (!name) throw refuse(`it must be a name in ${zone.name}`);
  if (name.name.includes('*')) throw refuse('it cannot be a wildcard');
  return name;
}

function leadingRecords({ store }: Context, { seq }: ZoneRow, ownerKey: Uint8Array): RecordRow[] {
  return recordsOfOwner(store, seq, ownerKey).filter(({ type }) => isProxiableType(type));
}

/** The record that was made with the domain. */
function ownRecords(ctx: Context, zone: ZoneRow, { domain }: BucketDomainRow): RecordRow[] {
  const { ownerKey } = recordNameIn(`${domain}.`, zone)!;
  return leadingRecords(ctx, zone, ownerKey).filter(({ content, proxied }) => content === NOWHERE && proxied === 1);
}

function purge({ store }: Context, { now }: Draft, { zone, domain }: BucketDomainRow): void {
  insertPurge(store, { zone, kind: 'hosts', items: [domain] }, now);
}

function edited(row: BucketDomainRow, { enabled, minTls, ciphers }: BucketDomainEdit): BucketDomainRow {
  return {
    ...row,
    ...(enabled !== undefined && { enabled: enabled === false ? 0 : 1 }),
    ...(minTls !== undefined && { min_tls: minTls }),
    ...(ciphers !== undefined && { ciphers: JSON.stringify(ciphers ?? []) }),
  };
}

function auditView({ domain, enabled, min_tls, ciphers }: BucketDomainRow): object {
  return { domain, enabled: enabled === 1, minTLS: min_tls, ciphers: JSON.parse(ciphers) };
}

function itemOf(ctx: Context, row: BucketDomainRow): BucketDomainItem {
  const zone = findZone(ctx.store, row.zone)!;
  const hasRecord = ownRecords(ctx, zone, row).length > 0;
  return {
    domain: row.domain,
    enabled: row.enabled === 1,
    ...(row.min_tls !== null && { minTls: row.min_tls }),
    ciphers: JSON.parse(row.ciphers) as string[],
    zone: { id: toHex(zone.id), name: zone.name },
    ownership: !hasRecord ? 'error' : zone.status === 'active' ? 'active' : 'pending',
  };
}
