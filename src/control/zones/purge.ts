/** Use case of purging the caches of the edge (v4: §11). */
import { toHex } from '../../base/bytes.js';
import type { Store } from '../../store/driver.js';
import { insertPurge, PURGE_KINDS, type PurgeKind } from '../../store/edge/purges.js';
import { findHostnameByName } from '../../store/hostnames/hostnames.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import { requireZone } from '../guard/access.js';
import { commit } from '../kernel/commit.js';
import type { Context } from '../kernel/context.js';
import { Outdated } from '../kernel/read-point.js';
import { parseHostName } from '../rules/names.js';
import { zoneFailure } from '../rules/zone-failures.js';
import { takePurgeToken } from './purge-limit.js';

type ListKind = Exclude<PurgeKind, 'purge_everything'>;

const MOST_SEPARATORS = 31;
const MOST_TAG_LENGTH = 1024;
const MOST_URL_LENGTH = 8192;

interface PurgedFile {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>> | null | undefined;
}

/** What is to be purged: exactly one of these; null is none. */
export interface PurgeInput {
  readonly purge_everything?: true | null | undefined;
  readonly files?: readonly (string | PurgedFile)[] | null | undefined;
  readonly tags?: readonly string[] | null | undefined;
  readonly hosts?: readonly string[] | null | undefined;
  readonly prefixes?: readonly string[] | null | undefined;
}

/** Whether a host name is served by the zone. */
type IsServed = (name: string) => boolean;

/** Returns the zone's identifier. Edge processes follow the row. Throws 429 for one purge too many. */
export async function purgeCache(ctx: Context, zoneId: string, input: PurgeInput): Promise<string> {
  const giveBack = ctx.dryRun ? undefined : takePurgeToken(ctx.store, ctx.clock, requireZone(ctx, zoneId).account);
  try {
    return await notePurge(ctx, zoneId, input);
  } catch (error) {
    // The request begins again, and takes another.
    if (error instanceof Outdated) giveBack?.();
    throw error;
  }
}

async function notePurge(ctx: Context, zoneId: string, input: PurgeInput): Promise<string> {
  const { value } = await commit(ctx, (draft) => {
    const zone = requireZone(ctx, zoneId);
    const kinds = PURGE_KINDS.filter((kind) => (input[kind] ?? undefined) !== undefined);
    const kind = kinds[0];
    if (kind === undefined || kinds.length > 1) throw zoneFailure('purgeSelector');
    const items = kind === 'purge_everything' ? [] : readItems(kind, input[kind]!, servedBy(ctx.store, zone));
    insertPurge(ctx.store, { zone: zone.seq, kind, items }, ctx.clock.nowUs());
    draft.event({ kind: 'cache.purge', zone, after: { [kind]: told(input[kind]!) } });
    return toHex(zone.id);
  });
  return value;
}

/** Characters of items in an event, as JSON: a hundred long ones would fill the audit log with megabytes. */
const MOST_TOLD = 16 * 1024;

/** What an event says of the items: all, or the first of them and how many more there were. */
function told(selected: true | readonly (string | PurgedFile)[]): unknown {
  if (selected === true) return true;
  let left = MOST_TOLD;
  const first = selected.filter((item) => {
    left -= JSON.stringify(item).length;
    return left >= 0;
  });
  return first.length === selected.length ? selected : [...first, `and ${selected.length - first.length} more`];
}

/** Names in the zone, and custom hostnames of it. */
function servedBy(store: Store, zone: ZoneRow): IsServed {
  return (name) =>
    name === zone.name ||
    name.endsWith(`.${zone.name}`) ||
    findHostnameByName(store, zone.seq, name) !== undefined ||
    findHostnameByName(store, zone.seq, `*.${name.slice(name.indexOf('.') + 1)}`) !== undefined;
}

/** The items as they are stored. Of a file, all variants are purged, whatever headers are named with it. */
function readItems(kind: ListKind, selected: readonly (string | PurgedFile)[], isServed: IsServed): string[] {
  return selected.map((item, i) => {
    const text = typeof item === 'string' ? item : item.url;
    const fault = FAULTS[kind](text, isServed);
    const reason = `${kind}[${i}] ${fault}`;
    if (fault) throw zoneFailure('badPurge', { reason }, { pointer: `/${kind}/${i}` });
    return STORED[kind](text);
  });
}

const STORED: Readonly<Record<ListKind, (item: string) => string>> = {
  files: (url) => url,
  tags: (tag) => tag.toLowerCase(),
  hosts: (host) => parseHostName(host)!,
  prefixes(prefix) {
    const [host, ...path] = prefix.split('/');
    return [parseHostName(host!), ...path].join('/');
  },
};

/** The problem with an item of each kind; undefined when it is valid. */
const FAULTS: Readonly<Record<ListKind, (item: string, isServed: IsServed) => string | undefined>> = {
  files: urlFault,
  tags(item) {
    const fits = item.length <= MOST_TAG_LENGTH && /^[\x21-\x7e]+$/.test(item);
    return fits ? undefined : `must be 1 to ${MOST_TAG_LENGTH} printable ASCII characters`;
  },
  hosts: hostFault,
  prefixes(item, isServed) {
    if (item.includes('://')) return 'must not have a scheme';
    if (/[?#]/.test(item)) return 'must not have a query or a fragment';
    const [host, ...path] = item.split('/');
    if (item.length > MOST_URL_LENGTH) return `is longer than ${MOST_URL_LENGTH} characters`;
    if (path.length > MOST_SEPARATORS) return `may have no more than ${MOST_SEPARATORS} path separators`;
    return hostFault(host, isServed);
  },
};

function urlFault(url: string, isServed: IsServed): string | undefined {
  const isUrl = /^https?:\/\//i.test(url) && URL.canParse(url);
  if (!isUrl) return 'must be an absolute http or https URL';
  if (url.length > MOST_URL_LENGTH) return `is longer than ${MOST_URL_LENGTH} characters`;
  return hostFault(new URL(url).hostname, isServed);
}

function hostFault(host: string | undefined, isServed: IsServed): string | undefined {
  if (host?.startsWith('*')) return 'must name one host: wildcards are not purged';
  const name = host === undefined ? undefined : parseHostName(host);
  if (name === undefined) return 'must name a host';
  return isServed(name) ? undefined : 'is neither in the zone nor one of its custom hostnames';
}
