/**
 * Decides which stored responses have been purged. It needs one look-up for each kind, however many purges and responses exist.
 */
import type { Purge, PurgeKind } from '../../store/edge/purges.js';

export interface CachedItem {
  /** Store number. */
  readonly zone: number;
  /** Lower case, without port. */
  readonly host: string;
  /** The result of `purgedUrl`. */
  readonly url: string;
  /** Whether the response answers any query; then its URL has no query. */
  readonly ignoresQuery: boolean;
  /** Lower case. */
  readonly tags: readonly string[];
}

export interface PurgedItems {
  /** Number of the last known purge. */
  readonly lastSeq: () => number;
  apply(purge: Purge): void;
  /** Purges all responses of all zones that were stored before this purge. */
  applyAll(seq: number): void;
  /** Whether a purge after number `seen` concerns a response. */
  isPurged(item: CachedItem, seen: number): boolean;
  /** Purged items kept. */
  size(): number;
  /** Forgets the purged items. Responses to earlier requests count as purged from now on. */
  forget(): void;
}

/** Normalizes `https://host/path?query`, so that purges and stored responses can be compared; undefined for an invalid URL. */
export function purgedUrl(url: string): string | undefined {
  const parsed = URL.parse(url);
  return parsed
    ? `${parsed.protocol}//${parsed.hostname.replace(/\.$/, '')}${parsed.pathname}${parsed.search}`
    : undefined;
}

/** The most separators of a prefix (v4: §11); deeper parts of a path are not looked up. */
const MOST_SEPARATORS = 31;

export function createPurgedItems(): PurgedItems {
  let last = 0;
  /** All responses to requests sent before this purge was known count as purged. */
  let floor = 0;
  const purgedAt = new Map<string, number>();

  const isAfter = (key: string, seen: number): boolean => (purgedAt.get(key) ?? 0) > seen;

  return {
    lastSeq: () => last,
    apply({ seq, zone, kind, items }) {
      last = Math.max(last, seq);
      if (kind === 'purge_everything') purgedAt.set(`${zone} *`, seq);
      for (const item of items) for (const key of keysOf(zone, kind, item)) purgedAt.set(key, seq);
    },
    applyAll(seq) {
      last = Math.max(last, seq);
      floor = last;
      purgedAt.clear();
    },
    isPurged(item, seen) {
      if (seen >= last) return false;
      const { zone, host, url, tags, ignoresQuery } = item;
      return (
        seen < floor ||
        isAfter(`${zone} *`, seen) ||
        isAfter(`${zone} host ${host}`, seen) ||
        isAfter(`${zone} ${ignoresQuery ? 'path' : 'file'} ${url}`, seen) ||
        tags.some((tag) => isAfter(`${zone} tag ${tag}`, seen)) ||
        prefixesOf(url).some((prefix) => isAfter(`${zone} prefix ${prefix}`, seen))
      );
    },
    size: () => purgedAt.size,
    forget() {
      floor = last;
      purgedAt.clear();
    },
  };
}

function keysOf(zone: number, kind: PurgeKind, item: string): string[] {
  if (kind === 'files') {
    const url = purgedUrl(item) ?? item;
    return [`${zone} file ${url}`, `${zone} path ${withoutQuery(url)}`];
  }
  if (kind === 'tags') return [`${zone} tag ${item}`];
  if (kind === 'hosts') return [`${zone} host ${item}`];
  return [`${zone} prefix ${withoutLastSlash(item)}`];
}

function withoutQuery(url: string): string {
  const query = url.indexOf('?');
  return query < 0 ? url : url.slice(0, query);
}

/** A prefix ends at a segment: `host/blog` equals `host/blog/` and does not match `host/blogger`. */
function withoutLastSlash(prefix: string): string {
  return prefix.replace(/\/+$/, '');
}

/** The host alone, with each directory of the path, and with the whole path. */
function prefixesOf(url: string): string[] {
  const text = withoutQuery(url.slice(url.indexOf('//') + 2));
  const prefixes: string[] = [];
  let end = text.indexOf('/');
  while (end >= 0 && prefixes.length <= MOST_SEPARATORS) {
    prefixes.push(text.slice(0, end));
    end = text.indexOf('/', end + 1);
  }
  return [...prefixes, text];
}
