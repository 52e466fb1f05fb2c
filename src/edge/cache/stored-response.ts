/** A stored response: its request, its age, and whether it may be used (RFC 9111 §4). */
import type { Representation } from '../../http/conditions.js';
import { parseCacheDate, printHttpDate } from '../../http/date.js';
import { fieldValue, type HeaderFields, listMembers, storableFields } from '../../http/fields.js';
import { compressibleOf } from '../compress/compressible.js';
import { headerFields, headerList } from '../exchange/exchange.js';
import type { CachedItem } from '../purge/purged.js';
import { type Directives, directivesOf } from './directives.js';
import { Forms } from './forms.js';
import { type Exchange, explicitLifetime, initialAge } from './freshness.js';
import { type SelectingField, selects } from './vary.js';

export type StoredFields = Readonly<Record<string, string | readonly string[]>>;

export interface StoredResponse {
  /** The facts that purges match. */
  readonly item: CachedItem;
  /** Number of the last purge that was known when its request was sent to the origin. */
  readonly purgesSeen: number;
  /** Number of the last purge that is known not to concern it. */
  purgesPassed: number;
  readonly status: number;
  /** Includes `date`. Excludes connection fields, fields that may not be stored, `age` and `content-length`. */
  readonly fields: StoredFields;
  /** The same, of a response that is worth compressing if it is long enough; they say that there are other forms. */
  readonly varied: StoredFields | undefined;
  readonly forms: Forms;
  /** Values of the request fields that always select (`alwaysSelecting`). */
  readonly always: string;
  readonly selecting: readonly SelectingField[];
  readonly directives: Directives;
  readonly receivedAtMs: number;
  /** The same moment on the steady clock. */
  readonly receivedMs: number;
  /** Seconds. */
  readonly initialAgeS: number;
  readonly lifetimeS: number;
  readonly representation: Representation;
  readonly body: readonly Uint8Array[];
}

/** What is known about a response when its header fields have arrived. */
export type StoredHead = Omit<StoredResponse, 'representation' | 'body'>;

export interface StorableResponse {
  readonly item: Omit<CachedItem, 'tags'>;
  readonly purgesSeen: number;
  readonly always: string;
  readonly status: number;
  readonly fields: HeaderFields;
  readonly directives: Directives;
  readonly lifetimeS: number;
  readonly selecting: readonly SelectingField[];
  readonly exchange: Exchange;
  /** Of the same body, if there are any. */
  readonly forms?: Forms;
}

/** Fields that each answer computes itself, or that only the cache reads. */
const NOT_STORED = ['age', 'content-length', 'cache-tag'] as const;

export function storedHead(response: StorableResponse): StoredHead {
  const { fields, directives, exchange, item } = response;
  const stored = storableFields(fields);
  for (const name of [...NOT_STORED, ...directives.withheld]) delete stored[name];
  stored['date'] ??= printHttpDate(exchange.receivedAtMs * 1000);
  const compressible = compressibleOf(response.status, headerList(stored));
  return {
    item: { ...item, tags: tagsOf(fields) },
    purgesSeen: response.purgesSeen,
    purgesPassed: response.purgesSeen,
    status: response.status,
    // A copy, because V8 reads an object slowly after a property was deleted from it.
    fields: { ...stored },
    varied: compressible && ({ ...headerFields(compressible.plain) } as StoredFields),
    forms: response.forms ?? new Forms(),
    always: response.always,
    selecting: response.selecting,
    directives,
    receivedAtMs: exchange.receivedAtMs,
    receivedMs: exchange.receivedMs,
    initialAgeS: initialAge(fields, exchange),
    lifetimeS: response.lifetimeS,
  };
}

/** Labels for purges, in lower case. */
function tagsOf(fields: HeaderFields): string[] {
  return listMembers((fieldValue(fields, 'cache-tag') ?? '').toLowerCase());
}

export function withBody(head: StoredHead, body: readonly Uint8Array[], size: number): StoredResponse {
  return { ...head, body, representation: representationOf(head, size) };
}

/** For conditions. Without `Last-Modified`, `If-Modified-Since` is compared with `Date` (RFC 9111 §4.3.2). */
export function representationOf({ fields, receivedAtMs }: StoredHead, size: number): Representation {
  const [, weak, etag] = /^(W\/)?"([^"]*)"$/.exec(fieldValue(fields, 'etag') ?? '') ?? [];
  const modified = fieldValue(fields, 'last-modified') ?? fieldValue(fields, 'date') ?? '';
  const seconds = parseCacheDate(modified, receivedAtMs);
  return {
    etag,
    hasWeakTag: weak !== undefined,
    size,
    uploadedAt: seconds === undefined ? undefined : seconds * 1_000_000,
  };
}

/** Seconds since the origin made or confirmed it (RFC 9111 §4.2.3). `nowMs`: of the steady clock, here and below. */
export function currentAge({ initialAgeS, receivedMs }: StoredHead, nowMs: number): number {
  return initialAgeS + (nowMs - receivedMs) / 1000;
}

/** Whether the response fits the request. `always`: the result of `alwaysSelecting` for the request. */
export function answers(stored: StoredHead, request: HeaderFields, always: string): boolean {
  return stored.always === always && selects(stored.selecting, request);
}

/** `stale-while-revalidate`: it may be used once more while it is being validated (RFC 5861 §3). */
export type Use = 'fresh' | 'stale-while-revalidate' | 'validate';

export function useOf(stored: StoredHead, nowMs: number): Use {
  const { directives, lifetimeS } = stored;
  if (directives.noCache) return 'validate';
  const age = currentAge(stored, nowMs);
  if (age < lifetimeS) return 'fresh';
  return !isStaleForbidden(directives) && age < lifetimeS + directives.staleWhileRevalidateS
    ? 'stale-while-revalidate'
    : 'validate';
}

/** How long a stale response replaces an unreachable origin if the response does not say; seconds. */
const DISCONNECTED_S = 3600;

/** Whether it may replace an error response (RFC 5861 §4). */
export function mayReplaceError(stored: StoredHead, nowMs: number): boolean {
  return mayBeStale(stored, stored.directives.staleIfErrorS, nowMs);
}

/** Whether it may be used when the origin does not respond, which means the cache is disconnected (RFC 9111 §4.2.4). */
export function mayReplaceSilence(stored: StoredHead, nowMs: number): boolean {
  return mayBeStale(stored, Math.max(stored.directives.staleIfErrorS, DISCONNECTED_S), nowMs);
}

function mayBeStale(stored: StoredHead, seconds: number, nowMs: number): boolean {
  const { directives, lifetimeS } = stored;
  if (directives.noCache || isStaleForbidden(directives)) return false;
  return currentAge(stored, nowMs) < lifetimeS + seconds;
}

/** Directives that forbid stale responses (RFC 9111 §4.2.4). For shared caches `s-maxage` does, too (§5.2.2.10). */
function isStaleForbidden({ mustRevalidate, proxyRevalidate, sharedMaxAgeS }: Directives): boolean {
  return mustRevalidate || proxyRevalidate || sharedMaxAgeS !== undefined;
}

/** Fields of a 304 that describe its own body rather than the stored one (RFC 9111 §3.2), or that are for one user. */
const NOT_FRESHENED = ['content-encoding', 'content-range', 'set-cookie'] as const;

/** A stored response updated from a 304 or from a response to HEAD (RFC 9111 §4.3.4). */
export function freshen(
  stored: StoredResponse,
  fields: HeaderFields,
  exchange: Exchange,
  purgesSeen: number,
): StoredResponse {
  const updated: Record<string, string | readonly string[]> = { ...stored.fields };
  const news = storableFields(fields);
  for (const name of NOT_FRESHENED) delete news[name];
  delete updated['date'];
  Object.assign(updated, news);
  const directives = directivesOf(updated);
  const head = storedHead({
    ...stored,
    fields: updated,
    directives,
    lifetimeS: explicitLifetime(updated, directives, exchange) ?? stored.lifetimeS,
    exchange,
    purgesSeen,
  });
  const tags = fields['cache-tag'] === undefined ? stored.item.tags : head.item.tags;
  return withBody({ ...head, item: { ...head.item, tags } }, stored.body, stored.representation.size);
}
