/**
 * Scans a zone that is served elsewhere (v4: §7.5): common names are looked up outside, so that users who move a domain
 * here need not type in its records. Findings are kept for a while until a user accepts or rejects them.
 */
import { AppError } from '../../base/errors.js';
import { hasRoomFor } from '../../base/turn-classes.js';
import type { UpstreamType } from '../../resolver/upstream.js';
import {
  countRunningScans,
  countRunningScansOfAccount,
  endScan,
  findReviewedScan,
  insertScan,
  insertScanRecord,
  removeOldScans,
  removeScan,
  removeScanRecord,
  scanRecords,
} from '../../store/records/scans.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import { parseId, requireWriter, requireZone } from '../guard/access.js';
import { accountFailure } from '../guard/account-failures.js';
import type { AskOutside, Context } from '../kernel/context.js';
import { zoneFailure } from '../rules/zone-failures.js';
import { applyBatch } from './batch.js';
import type { RecordInput } from './input.js';
import type { RecordItem } from './item.js';
import { createRecord } from './records.js';

export interface ScanOutcome {
  readonly added: number;
  /** Number of records found outside, including those that already exist here. */
  readonly parsed: number;
}

const HOSTS =
  'www mail smtp imap pop pop3 webmail mx mx1 mx2 ftp sftp ns1 ns2 ns3 autodiscover autoconfig m mobile blog shop store api app ' +
  'apps dev staging test demo beta cdn static assets img images media video files download upload vpn remote portal login sso auth ' +
  'admin panel cpanel support help docs wiki status git gitlab ci jira chat meet calendar cloud db proxy gateway secure dashboard ' +
  'monitor stats news forum lists sip lyncdiscover enterpriseregistration enterpriseenrollment msoid';
const TEXTS =
  '_dmarc _mta-sts _smtp._tls default._domainkey google._domainkey selector1._domainkey selector2._domainkey k1._domainkey ' +
  'mail._domainkey dkim._domainkey s1._domainkey s2._domainkey _acme-challenge _github-challenge';
const APEX_TYPES: readonly UpstreamType[] = ['A', 'AAAA', 'MX', 'TXT', 'CAA'];
const HOST_TYPES: readonly UpstreamType[] = ['A', 'AAAA'];
const AT_ONCE = 12;
/** Findings without a decision are deleted after this many milliseconds. */
const KEPT_MS = 86_400_000;
/** The largest number of ended scans of one account whose findings are kept. */
const MOST_KEPT = 100;
/**
 * How many scans may run: of one account, and so many more for accounts of which none runs. Each sends about two hundred queries,
 * which the resolver takes in turns.
 */
const MOST_RUNNING = { places: 8, beyond: 56 } as const;
/** A scan that began earlier and has not ended was interrupted with its process; milliseconds. */
const LONGEST_MS = 600_000;

/** Starts a scan; its findings appear in {@link listFound} over time. */
export async function triggerScan(ctx: Context, zoneId: string): Promise<void> {
  requireWriter(ctx.actor);
  const zone = requireZone(ctx, zoneId);
  const ask = requireOutside(ctx);
  const scan = await ctx.store.write(() => beginReviewedScan(ctx, zone));
  if (scan === undefined) return;
  const note = (item: RecordItem): Promise<void> =>
    ctx.store.write(() => insertScanRecord(ctx.store, scan, parseId(item.id)!, JSON.stringify(item)));
  look(ctx, zoneId, ask, note)
    .finally(() => ctx.store.write(() => endScan(ctx.store, scan)))
    .catch((error: unknown) => {
      // The zone may have been deleted meanwhile.
      if (!(error instanceof AppError)) ctx.log.error({ err: error, zoneId }, 'a scan of a zone failed');
    });
}

/** Undefined while a scan of the zone is running. */
function beginReviewedScan(ctx: Context, row: ZoneRow): number | undefined {
  const { store } = ctx;
  const { seq: zone } = row;
  const nowMs = ctx.clock.nowMs();
  const known = findReviewedScan(store, zone, nowMs - KEPT_MS);
  if (known?.ended === 0 && known.began_at > nowMs - LONGEST_MS) return undefined;
  const scan = beginScan(ctx, row, 1);
  if (known) removeScan(store, known.seq);
  return scan;
}

/** Throws 429 when as many scans are running as may. */
function beginScan({ store, clock }: Context, { seq: zone, account }: ZoneRow, reviewed: 0 | 1): number {
  const nowMs = clock.nowMs();
  removeOldScans(store, nowMs - KEPT_MS, account, MOST_KEPT);
  const sinceMs = nowMs - LONGEST_MS;
  const own = countRunningScansOfAccount(store, sinceMs, account);
  if (!hasRoomFor(own, countRunningScans(store, sinceMs), MOST_RUNNING)) {
    throw zoneFailure('scansBusy', { most: MOST_RUNNING.places });
  }
  return insertScan(store, { zone, reviewed, began_at: nowMs });
}

/** Scans, and adds findings that do not conflict with existing records. */
export async function scanAndAdd(ctx: Context, zoneId: string): Promise<ScanOutcome> {
  requireWriter(ctx.actor);
  const zone = requireZone(ctx, zoneId);
  const ask = requireOutside(ctx);
  // Another scan of the zone may be waiting for review; this one only counts as running.
  const scan = await ctx.store.write(() => beginScan(ctx, zone, 0));
  const found: RecordItem[] = [];
  let parsed = 0;
  try {
    parsed = await look(ctx, zoneId, ask, async (item) => void found.push(item));
  } finally {
    await ctx.store.write(() => removeScan(ctx.store, scan));
  }
  let added = 0;
  for (const item of found) if (await tryAdd(ctx, zoneId, item)) added++;
  return { added, parsed };
}

/** Findings without a decision. */
export function listFound(ctx: Context, zoneId: string): readonly RecordItem[] {
  const { seq: zone } = requireZone(ctx, zoneId);
  requireOutside(ctx);
  const scan = findReviewedScan(ctx.store, zone, ctx.clock.nowMs() - KEPT_MS);
  return scan ? scanRecords(ctx.store, scan.seq).map((item) => JSON.parse(item) as RecordItem) : [];
}

/** What was decided about what was found; null is not a list. */
export interface ReviewInput {
  readonly accepts?: readonly (RecordInput & { readonly id?: string | undefined })[] | null | undefined;
  readonly rejects?: readonly { readonly id: string }[] | null | undefined;
}

export interface Review {
  readonly accepts: readonly RecordItem[];
  readonly rejects: readonly string[];
}

/**
 * Adds the accepted findings, all or nothing, as the client sends them back; removes accepted and rejected findings.
 */
export async function reviewFound(ctx: Context, zoneId: string, input: ReviewInput): Promise<Review> {
  const accepts = input.accepts ?? [];
  const rejects = (input.rejects ?? []).map(({ id }) => id);
  const { posts } = await applyBatch(ctx, zoneId, { posts: accepts }, 'accepts');
  requireOutside(ctx);
  if (!ctx.dryRun) await forgetFound(ctx, zoneId, [...accepts.flatMap(({ id }) => id ?? []), ...rejects]);
  return { accepts: posts, rejects };
}

async function forgetFound(ctx: Context, zoneId: string, recordIds: readonly string[]): Promise<void> {
  const { seq: zone } = requireZone(ctx, zoneId);
  const ids = recordIds.map(parseId).filter((id) => id !== undefined);
  await ctx.store.write(() => {
    const scan = findReviewedScan(ctx.store, zone, ctx.clock.nowMs() - KEPT_MS);
    if (scan) for (const id of ids) removeScanRecord(ctx.store, scan.seq, id);
  });
}

function requireOutside({ askOutside }: Context): AskOutside {
  if (!askOutside) throw accountFailure('badInput', { reason: 'No resolver is configured.' });
  return askOutside;
}

/** Looks up every name; reports the records that could be added, and returns the number of records found. */
async function look(
  ctx: Context,
  zoneId: string,
  ask: AskOutside,
  take: (item: RecordItem) => Promise<void>,
): Promise<number> {
  const { name: apex, account } = requireZone(ctx, zoneId);
  const askFor: Ask = (name, type) => ask(name, type, account);
  const wildcard = await contentsOf(askFor, `${ctx.random.uuid()}.${apex}`, 'A');
  const questions: (readonly [name: string, type: UpstreamType])[] = [
    ...APEX_TYPES.map((type) => [apex, type] as const),
    ...HOSTS.split(' ').flatMap((host) => HOST_TYPES.map((type) => [`${host}.${apex}`, type] as const)),
    ...TEXTS.split(' ').map((text) => [`${text}.${apex}`, 'TXT'] as const),
  ];
  const seen = new Set<string>();
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let i = next++; i < questions.length; i = next++) {
      const [name, type] = questions[i]!;
      for (const [kind, content] of await contentsOf(askFor, name, type)) {
        const isWild = wildcard.some(([other, same]) => other === kind && same === content);
        const owner = isWild && name !== apex ? `*.${apex}` : name;
        const key = `${owner} ${kind} ${content}`;
        if (seen.has(key)) continue;
        seen.add(key);
        const item = await createDry(ctx, zoneId, owner, kind, content);
        if (item) await take(item);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return seen.size;
}

type Ask = (name: string, type: UpstreamType) => ReturnType<AskOutside>;

/** Types and contents of the name itself; for an alias, its CNAME. */
async function contentsOf(ask: Ask, name: string, type: UpstreamType): Promise<[UpstreamType, string][]> {
  const { records } = await ask(name, type);
  return records.filter((record) => record.name === name).map((record) => [record.type, record.content]);
}

/** The record as it would be created; undefined when it cannot be added or already exists. */
async function createDry(
  ctx: Context,
  zoneId: string,
  name: string,
  type: UpstreamType,
  content: string,
): Promise<RecordItem | undefined> {
  const [, priority, exchange] = type === 'MX' ? (/^(\d+) (.+)$/.exec(content) ?? []) : [];
  const input = priority === undefined ? { content } : { content: exchange, priority: Number(priority) };
  const { outcome: _, ...rest } = ctx;
  try {
    return await createRecord({ ...rest, dryRun: true }, zoneId, { type, name, ttl: 1, ...input });
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}

async function tryAdd(ctx: Context, zoneId: string, { type, name, content, priority }: RecordItem): Promise<boolean> {
  try {
    await createRecord(ctx, zoneId, { type, name, content, ttl: 1, ...(priority === undefined ? {} : { priority }) });
    return true;
  } catch (error) {
    // Another finding of the same scan may conflict with it.
    if (error instanceof AppError) return false;
    throw error;
  }
}
