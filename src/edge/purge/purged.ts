/**
 * Decides which stored responses have been purged. It needs one look-up for each kind, however many purges and responses exist, and one
 * where only other zones have purged something.
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
  /** Approximate octets of the purged items that are kept. */
  octets(): number;
  /** The zone of which most octets are kept, and how many; undefined: nothing is kept but the numbers of purges. */
  largest(): { readonly zone: number | undefined; readonly octets: number };
  /** Forgets what was purged in a zone, or in all, up to a number. Responses to requests from before count as purged from now on. */
  forget(zone: number | undefined, upTo: number): void;
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

/** Approximate octets of a zone, and of an item in addition to its text. */
const [OCTETS_OF_ZONE, OCTETS_OF_ITEM] = [300, 100];

/** The purges of one zone: others need not look at them. */
interface ZonePurges {
  /** Number of the last one. */
  last: number;
  /** All responses to requests sent before this purge was known count as purged. */
  floor: number;
  /** The last purge of each item. */
  readonly items: Map<string, number>;
  octets: number;
}

export function createPurgedItems(): PurgedItems {
  let last = 0;
  /** As that of a zone, for all. */
  let floor = 0;
  let octets = 0;
  const zones = new Map<number, ZonePurges>();

  const zoneOf = (zone: number): ZonePurges => {
    let purges = zones.get(zone);
    if (!purges) {
      purges = { last: 0, floor: 0, items: new Map(), octets: OCTETS_OF_ZONE };
      zones.set(zone, purges);
      octets += OCTETS_OF_ZONE;
    }
    return purges;
  };
  const change = (purges: ZonePurges, by: number): void => {
    purges.octets += by;
    octets += by;
  };
  const forgetItems = (purges: ZonePurges, upTo: number): void => {
    purges.floor = Math.max(purges.floor, upTo);
    for (const [key, seq] of purges.items) {
      if (seq > upTo) continue;
      purges.items.delete(key);
      change(purges, -octetsOf(key));
    }
  };
  const forgetZones = (upTo: number): void => {
    floor = Math.max(floor, upTo);
    for (const [zone, purges] of zones) {
      if (purges.last > upTo) continue;
      zones.delete(zone);
      octets -= purges.octets;
    }
  };

  return {
    lastSeq: () => last,
    apply({ seq, zone, kind, items }) {
      last = Math.max(last, seq);
      const purges = zoneOf(zone);
      purges.last = seq;
      if (kind === 'purge_everything') forgetItems(purges, seq);
      for (const item of items) {
        for (const key of keysOf(kind, item)) {
          if (!purges.items.has(key)) change(purges, octetsOf(key));
          purges.items.set(key, seq);
        }
      }
    },
    applyAll(seq) {
      last = Math.max(last, seq);
      forgetZones(last);
    },
    isPurged(item, seen) {
      if (seen >= last) return false;
      if (seen < floor) return true;
      const purges = zones.get(item.zone);
      if (!purges || seen >= purges.last) return false;
      return seen < purges.floor || namesItem(purges.items, item, seen);
    },
    octets: () => octets,
    largest() {
      let found: { zone: number | undefined; octets: number } = { zone: undefined, octets: OCTETS_OF_ZONE };
      for (const [zone, purges] of zones) if (purges.octets > found.octets) found = { zone, octets: purges.octets };
      return found;
    },
    forget(zone, upTo) {
      if (zone === undefined) forgetZones(upTo);
      else forgetItems(zoneOf(zone), upTo);
    },
  };
}

const octetsOf = (key: string): number => key.length + OCTETS_OF_ITEM;

function namesItem(items: ReadonlyMap<string, number>, item: CachedItem, seen: number): boolean {
  const isAfter = (key: string): boolean => (items.get(key) ?? 0) > seen;
  const { host, url, tags, ignoresQuery } = item;
  return (
    items.size > 0 &&
    (isAfter(`host ${host}`) ||
      isAfter(`${ignoresQuery ? 'path' : 'file'} ${url}`) ||
      tags.some((tag) => isAfter(`tag ${tag}`)) ||
      prefixesOf(url).some((prefix) => isAfter(`prefix ${prefix}`)))
  );
}

function keysOf(kind: PurgeKind, item: string): string[] {
  if (kind === 'files') {
    const url = purgedUrl(item) ?? item;
    return [`file ${url}`, `path ${withoutQuery(url)}`];
  }
  if (kind === 'tags') return [`tag ${item}`];
  if (kind === 'hosts') return [`host ${item}`];
  return [`prefix ${withoutLastSlash(item)}`];
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
