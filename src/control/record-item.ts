/** A record's row as use cases hand it out. */
import { toHex } from '../base/bytes.js';
import { domainToUnicode } from '../dns/idna.js';
import { typeByCode } from '../dns/rr/registry.js';
import { type NewRecordRow, parseSettings, parseTags } from '../store/records.js';
import type { ZoneRow } from '../store/zones.js';
import type { RecordItem } from './items.js';
import { isProxiable } from './rules/proxiable.js';

export function recordItem(row: NewRecordRow, zone: ZoneRow): RecordItem {
  const type = typeByCode(row.type);
  const { content, data, priority } = type.toApi(row.rdata, row.content);
  return {
    id: toHex(row.id),
    zoneId: toHex(zone.id),
    zoneName: domainToUnicode(zone.name),
    name: row.name,
    type: type.mnemonic,
    content,
    ...(priority === undefined ? {} : { priority }),
    ...(data === undefined ? {} : { data }),
    proxiable: isProxiable(row.type, row.rdata),
    proxied: row.proxied === 1,
    ttl: row.ttl,
    settings: parseSettings(row.settings),
    ...(row.private_routing === null ? {} : { privateRouting: row.private_routing === 1 }),
    comment: row.comment,
    tags: parseTags(row.tags),
    createdAt: row.created_at,
    modifiedAt: row.modified_at,
    ...(row.comment_modified_at === null ? {} : { commentModifiedAt: row.comment_modified_at }),
    ...(row.tags_modified_at === null ? {} : { tagsModifiedAt: row.tags_modified_at }),
  };
}
