/** Use case of purging the cache of a zone (v4: §11). There is no cache yet: a request is checked and written down. */
import { toHex } from '../base/bytes.js';
import { requireZone } from './access.js';
import { commit } from './commit.js';
import type { Context } from './context.js';
import { zoneFailure } from './errors.js';
import { parseHostName } from './rules/names.js';

const KINDS = ['purge_everything', 'files', 'tags', 'hosts', 'prefixes'] as const;
const MOST_ITEMS = 100;
const MOST_SEPARATORS = 31;

/** Unchecked body; returns the zone's identifier. */
export async function purgeCache(
  ctx: Context,
  zoneId: string,
  body: Readonly<Record<string, unknown>>,
): Promise<string> {
  const { value } = await commit(ctx, (draft) => {
    const zone = requireZone(ctx, zoneId);
    const kinds = KINDS.filter((kind) => body[kind] !== undefined);
    const kind = kinds[0];
    if (kind === undefined || kinds.length > 1) throw zoneFailure('purgeSelector');
    const selected = body[kind];
    const fits =
      kind === 'purge_everything'
        ? selected === true
        : Array.isArray(selected) &&
          selected.length > 0 &&
          selected.length <= MOST_ITEMS &&
          selected.every((item) => fitsKind(kind, item, zone.name));
    if (!fits) throw zoneFailure('badPurge', { kind }, { pointer: `/${kind}` });
    draft.audit({ action: 'cache.purge', zone: zone.id, object: zone.id, after: { [kind]: selected } });
    return toHex(zone.id);
  });
  return value;
}

function fitsKind(kind: (typeof KINDS)[number], item: unknown, zone: string): boolean {
  if (kind === 'files') {
    const url: unknown = typeof item === 'object' && item !== null ? (item as Record<string, unknown>)['url'] : item;
    const parsed = typeof url === 'string' && /^https?:\/\//i.test(url) && URL.canParse(url) ? new URL(url) : undefined;
    return parsed !== undefined && isIn(parsed.hostname, zone);
  }
  if (typeof item !== 'string') return false;
  if (kind === 'tags') return /^[\x21-\x7e]{1,1024}$/.test(item);
  if (kind === 'hosts') return isIn(item, zone);
  const [host = '', ...path] = item.split('/');
  return !/[?#]/.test(item) && path.length <= MOST_SEPARATORS && isIn(host, zone);
}

function isIn(host: string, zone: string): boolean {
  const name = parseHostName(host);
  return name !== undefined && (name === zone || name.endsWith(`.${zone}`));
}
