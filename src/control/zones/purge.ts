/** Use case of purging the cache of a zone (v4: §11). There is no cache yet: a request is checked and written down. */
import { toHex } from '../../base/bytes.js';
import { requireZone } from '../access/access.js';
import { parseHostName } from '../rules/names.js';
import { commit } from '../write/commit.js';
import type { Context } from '../write/context.js';
import { zoneFailure } from './errors.js';

const KINDS = ['purge_everything', 'files', 'tags', 'hosts', 'prefixes'] as const;
type ListKind = Exclude<(typeof KINDS)[number], 'purge_everything'>;

/** Items a request may name. */
const MOST_ITEMS = 100;
const MOST_SEPARATORS = 31;
const MOST_TAG_LENGTH = 1024;
const MOST_URL_LENGTH = 8192;
const MOST_HEADERS = 20;

type Body = Readonly<Record<string, unknown>>;

/** Unchecked body; returns the zone's identifier. */
export async function purgeCache(ctx: Context, zoneId: string, body: Body): Promise<string> {
  const { value } = await commit(ctx, (draft) => {
    const zone = requireZone(ctx, zoneId);
    const kinds = KINDS.filter((kind) => body[kind] !== undefined && body[kind] !== null);
    const kind = kinds[0];
    if (kind === undefined || kinds.length > 1) throw zoneFailure('purgeSelector');
    const selected = body[kind];
    if (kind !== 'purge_everything') requireItems(kind, selected, zone.name);
    else if (selected !== true) throw badPurge('purge_everything must be true', '/purge_everything');
    draft.audit({ action: 'cache.purge', zone: zone.id, object: zone.id, after: { [kind]: selected } });
    return toHex(zone.id);
  });
  return value;
}

function badPurge(reason: string, pointer: string): Error {
  return zoneFailure('badPurge', { reason }, { pointer });
}

function requireItems(kind: ListKind, selected: unknown, zone: string): void {
  if (!Array.isArray(selected)) throw badPurge(`${kind} must be a list`, `/${kind}`);
  if (selected.length === 0) throw badPurge(`${kind} is empty`, `/${kind}`);
  if (selected.length > MOST_ITEMS) {
    throw badPurge(`${kind} may name ${MOST_ITEMS} items at most, not ${selected.length}`, `/${kind}`);
  }
  selected.forEach((item, i) => {
    const fault = FAULTS[kind](item, zone);
    if (fault) throw badPurge(`${kind}[${i}] ${fault}`, `/${kind}/${i}`);
  });
}

/** What is wrong with an item of each kind; undefined when nothing is. */
const FAULTS: Readonly<Record<ListKind, (item: unknown, zone: string) => string | undefined>> = {
  files: (item, zone) => {
    if (!isObject(item)) return urlFault(item, zone);
    const { url, headers } = item;
    return urlFault(url, zone) ?? (areHeaders(headers) ? undefined : 'has headers that are no names with texts');
  },
  tags(item) {
    const fits = typeof item === 'string' && item.length <= MOST_TAG_LENGTH && /^[\x21-\x7e]+$/.test(item);
    return fits ? undefined : `must be 1 to ${MOST_TAG_LENGTH} printable ASCII characters`;
  },
  hosts: hostFault,
  prefixes(item, zone) {
    if (typeof item !== 'string') return 'must be a text';
    if (item.includes('://')) return 'must not have a scheme';
    if (/[?#]/.test(item)) return 'must not have a query or a fragment';
    const [host, ...path] = item.split('/');
    if (path.length > MOST_SEPARATORS) return `may have ${MOST_SEPARATORS} path separators at most`;
    return hostFault(host, zone);
  },
};

function isObject(value: unknown): value is Body {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function urlFault(url: unknown, zone: string): string | undefined {
  const isUrl = typeof url === 'string' && /^https?:\/\//i.test(url) && URL.canParse(url);
  if (!isUrl) return 'must be an absolute http or https URL';
  if (url.length > MOST_URL_LENGTH) return `is longer than ${MOST_URL_LENGTH} characters`;
  return hostFault(new URL(url).hostname, zone);
}

function areHeaders(headers: unknown): boolean {
  if (headers === undefined || headers === null) return true;
  if (!isObject(headers) || Object.keys(headers).length > MOST_HEADERS) return false;
  return Object.entries(headers).every(([name, text]) => /^[\w-]+$/.test(name) && typeof text === 'string');
}

function hostFault(host: unknown, zone: string): string | undefined {
  const name = typeof host === 'string' ? parseHostName(host) : undefined;
  if (name === undefined) return 'must name a host';
  return name === zone || name.endsWith(`.${zone}`) ? undefined : `is not in the zone ${zone}`;
}
