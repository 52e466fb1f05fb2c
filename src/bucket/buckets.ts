/**
 * Use cases of buckets: create, list, edit, delete, bind to the bucket application (v4: §13). A name is unique within
 * an account and a jurisdiction. The object store manages the objects in a bucket.
 */
import { toHex } from '../base/bytes.js';
import { requirePermission, requireWriter } from '../control/guard/access.js';
import { accountFailure } from '../control/guard/account-failures.js';
import { commit } from '../control/kernel/commit.js';
import type { Context } from '../control/kernel/context.js';
import { requireRoomFor } from '../control/rules/quotas.js';
import { findAccount } from '../store/access/accounts.js';
import {
  allBuckets,
  type BucketRow,
  bindingsOfBucket,
  bucketsOfJurisdiction,
  countBuckets,
  findBucketByName,
  insertBucket,
  type Jurisdiction,
  type Location,
  lastBoundBucket,
  putBinding,
  removeBucket,
  type StorageClass,
  setStorageClass,
  type UsageRow,
  usageOfAccount,
  usageOfBucket,
} from '../store/objects/buckets.js';
import { hasObjects } from '../store/objects/objects.js';
import { requireBucket, requireBucketAccount } from './access.js';
import { bindingNameFault } from './binding-name.js';
import { isBucketName } from './bucket-name.js';
import { detachBucketDomains } from './domains.js';
import { bucketFailure } from './errors.js';
import { AUTH_KEY_SECRET } from './secrets.js';
import { removeUploadsOf } from './uploads/remove-uploads.js';

export interface BucketItem {
  readonly name: string;
  readonly jurisdiction: Jurisdiction;
  readonly account: { readonly id: string; readonly name: string };
  /** The location hint given at creation. */
  readonly location: Location | null;
  /** The class of objects that name none. */
  readonly storageClass: StorageClass;
  /** Names under which the application sees the bucket. */
  readonly bindings: readonly string[];
  /** Microseconds since 1970. */
  readonly createdAt: number;
}

export interface BucketInput {
  readonly name: string;
  readonly locationHint?: Location | null | undefined;
  readonly storageClass?: StorageClass | null | undefined;
  readonly jurisdiction: Jurisdiction;
}

export interface BucketQuery {
  readonly jurisdiction: Jurisdiction;
  readonly nameContains?: string | undefined;
  /** Only names after this one, in the requested direction. */
  readonly startAfter?: string | undefined;
  /** The cursor of the previous page. */
  readonly cursor?: string | undefined;
  readonly direction?: 'asc' | 'desc' | undefined;
  readonly perPage: number;
}

export interface BucketPage {
  readonly items: readonly BucketItem[];
  /** Cursor of the next page; undefined on the last. */
  readonly next?: string;
}

/** What is stored; sizes in octets. */
export interface BucketUsage {
  readonly objects: number;
  readonly payloadOctets: number;
  readonly metadataOctets: number;
}

const MOST_BUCKETS = 10_000;

function bucketItem(ctx: Context, row: BucketRow): BucketItem {
  const account = findAccount(ctx.store, row.account)!;
  return {
    name: row.name,
    jurisdiction: row.jurisdiction,
    account: { id: toHex(account.id), name: account.name },
    location: row.location,
    storageClass: row.storage_class,
    bindings: bindingsOfBucket(ctx.store, row.seq),
    createdAt: row.created_at,
  };
}

/** Creates an empty bucket. The default account is the actor's first. */
export async function createBucket(
  ctx: Context,
  accountId: string | undefined,
  input: BucketInput,
): Promise<BucketItem> {
  requireBucketAccount(ctx, accountId);
  const { name, jurisdiction } = input;
  if (!isBucketName(name)) throw bucketFailure('badName');
  const location = input.locationHint ?? null;
  const storageClass = input.storageClass ?? 'Standard';
  const { value } = await commit(ctx, (draft) => {
    const account = requireBucketAccount(ctx, accountId);
    if (findBucketByName(ctx.store, account.seq, jurisdiction, name)) throw bucketFailure('exists');
    if (countBuckets(ctx.store, account.seq) >= MOST_BUCKETS) throw bucketFailure('tooMany', { limit: MOST_BUCKETS });
    requireRoomFor(ctx, account.seq, 'buckets');
    const row = {
      account: account.seq,
      jurisdiction,
      name,
      location,
      storage_class: storageClass,
      created_at: draft.now,
    };
    const seq = insertBucket(ctx.store, row);
    draft.event({
      ...{ kind: 'bucket.create', account: account.seq, name },
      after: { jurisdiction, location, storageClass },
    });
    return { ...row, seq };
  });
  return bucketItem(ctx, value);
}

/** One page of an account's buckets, ordered by name. */
export async function listBuckets(
  ctx: Context,
  accountId: string | undefined,
  query: BucketQuery,
): Promise<BucketPage> {
  const account = requireBucketAccount(ctx, accountId);
  const { nameContains = '', direction = 'asc', perPage } = query;
  const bounds = [query.startAfter, readCursor(query.cursor)].filter((bound) => bound !== undefined);
  const rows = bucketsOfJurisdiction(ctx.store, account.seq, query.jurisdiction)
    .filter(({ name }) => name.includes(nameContains))
    .filter(({ name }) => bounds.every((bound) => (direction === 'desc' ? name < bound : name > bound)));
  if (direction === 'desc') rows.reverse();
  const items = rows.slice(0, perPage).map((row) => bucketItem(ctx, row));
  return rows.length > perPage ? { items, next: makeCursor(items.at(-1)!.name) } : { items };
}

/** All buckets that the actor may see, or those of one account, ordered by name. */
export async function listEveryBucket(ctx: Context, accountId: string | undefined): Promise<BucketItem[]> {
  const all = allBuckets(ctx.store);
  if (accountId === undefined && ctx.actor.superAdministrator) return all.map((row) => bucketItem(ctx, row));
  const account = requireBucketAccount(ctx, accountId);
  return all.filter((row) => row.account === account.seq).map((row) => bucketItem(ctx, row));
}

const makeCursor = (name: string): string => Buffer.from(name).toString('base64url');

function readCursor(cursor: string | undefined): string | undefined {
  if (cursor === undefined) return undefined;
  const name = Buffer.from(cursor, 'base64url').toString();
  if (isBucketName(name)) return name;
  throw bucketFailure('badInput', { reason: 'Query parameter cursor is invalid: expected the cursor of a page.' });
}

export async function getBucket(
  ctx: Context,
  accountId: string | undefined,
  name: string,
  jurisdiction: Jurisdiction,
): Promise<BucketItem> {
  return bucketItem(ctx, requireBucket(ctx, accountId, name, jurisdiction));
}

/** Changes the class of future objects that name none; existing objects keep theirs. */
export async function editBucket(
  ctx: Context,
  accountId: string | undefined,
  name: string,
  jurisdiction: Jurisdiction,
  storageClass: StorageClass,
): Promise<BucketItem> {
  const { value } = await commit(ctx, (draft) => {
    const row = requireBucket(ctx, accountId, name, jurisdiction);
    if (row.storage_class === storageClass) return row;
    setStorageClass(ctx.store, row.seq, storageClass);
    draft.event({
      ...{ kind: 'bucket.edit', account: row.account, name },
      before: { jurisdiction, storageClass: row.storage_class },
      after: { jurisdiction, storageClass },
    });
    return { ...row, storage_class: storageClass };
  });
  return bucketItem(ctx, value);
}

/**
 * Deletes an empty bucket with its bindings and custom domains. Returns the deleted bucket. Throws 409/10008 while it contains
 * objects.
 */
export async function deleteBucket(
  ctx: Context,
  accountId: string | undefined,
  name: string,
  jurisdiction: Jurisdiction,
): Promise<BucketItem> {
  const requireEmpty = (): BucketRow => {
    const row = requireBucket(ctx, accountId, name, jurisdiction);
    if (!hasObjects(ctx.store, row.seq)) return row;
    throw bucketFailure('notEmpty', { account: bucketItem(ctx, row).account.id });
  };
  const requireDeletable = (): number => {
    ctx.requireStill?.();
    return requireEmpty().seq;
  };
  requireWriter(ctx.actor);
  if (!ctx.dryRun) await removeUploadsOf(ctx, requireDeletable);
  const { value } = await commit(ctx, (draft) => {
    const row = requireEmpty();
    const item = bucketItem(ctx, row);
    detachBucketDomains(ctx, draft, row);
    removeBucket(ctx.store, row.seq);
    draft.event({
      kind: 'bucket.delete',
      account: row.account,
      name,
      before: { jurisdiction, bindings: item.bindings },
    });
    return item;
  });
  return value;
}

/**
 * Binds the bucket to a variable name of the application, replacing the name's earlier binding. Only for super
 * administrators, because there is one application. Throws for a name that is invalid in JavaScript.
 */
export async function bindBucket(
  ctx: Context,
  accountId: string | undefined,
  name: string,
  jurisdiction: Jurisdiction,
  binding: string,
): Promise<BucketItem> {
  if (!ctx.actor.superAdministrator) throw accountFailure('notAllowed');
  const reason = binding === AUTH_KEY_SECRET ? 'it is the name of the secret' : bindingNameFault(binding);
  if (reason !== undefined) throw bucketFailure('badBinding', { name: `'${binding.slice(0, 64)}'`, reason });
  const { value } = await commit(ctx, (draft) => {
    const row = requireBucket(ctx, accountId, name, jurisdiction);
    putBinding(ctx.store, binding, row.seq, draft.now);
    draft.event({ kind: 'bucket.bind', account: row.account, name, after: { jurisdiction, binding } });
    return row;
  });
  return bucketItem(ctx, value);
}

/** Whether the bucket application serves this bucket: the one that was bound last. Throws as requireBucket does. */
export function isServedBucket(
  ctx: Context,
  accountId: string | undefined,
  name: string,
  jurisdiction: Jurisdiction,
): boolean {
  return lastBoundBucket(ctx.store)?.seq === requireBucket(ctx, accountId, name, jurisdiction).seq;
}

/** What is currently stored in a bucket. */
export async function bucketUsage(
  ctx: Context,
  accountId: string | undefined,
  name: string,
  jurisdiction: Jurisdiction,
): Promise<BucketUsage> {
  const row = requireBucket(ctx, accountId, name, jurisdiction);
  // GraphQL requests use one path that does not name the bucket or account.
  const account = toHex(findAccount(ctx.store, row.account)!.id);
  requirePermission(ctx.actor, 'buckets', 'read', { account });
  return sumUp(usageOfBucket(ctx.store, row.seq));
}

/** What is currently stored in all buckets of an account, by storage class. */
export async function accountUsage(
  ctx: Context,
  accountId: string | undefined,
): Promise<Readonly<Record<StorageClass, BucketUsage>>> {
  const account = requireBucketAccount(ctx, accountId);
  const rows = usageOfAccount(ctx.store, account.seq);
  const ofClass = (name: StorageClass): BucketUsage => sumUp(rows.filter((row) => row.storage_class === name));
  return { Standard: ofClass('Standard'), InfrequentAccess: ofClass('InfrequentAccess') };
}

function sumUp(rows: readonly UsageRow[]): BucketUsage {
  const sum = (octets: (row: UsageRow) => number): number => rows.reduce((total, row) => total + octets(row), 0);
  return {
    objects: sum((row) => row.objects),
    payloadOctets: sum((row) => row.payload_size),
    metadataOctets: sum((row) => row.metadata_size),
  };
}
