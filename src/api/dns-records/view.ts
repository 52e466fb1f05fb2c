/** Records in the form for v4 clients; the order of the members is part of the contract (v4: §0.8, §5.4). */
import type { Counterpart, RecordItem, ShadowItem } from '../../control/records/item.js';
import { printTime } from '../times.js';
import type { DnsRecord } from './schema.js';

export function recordView(item: RecordItem): DnsRecord {
  return {
    id: item.id,
    zone_id: item.zoneId,
    zone_name: item.zoneName,
    name: item.name,
    type: item.type,
    content: item.content,
    ...(item.priority === undefined ? {} : { priority: item.priority }),
    proxiable: item.proxiable,
    proxied: item.proxied,
    ttl: item.ttl,
    settings: { ...item.settings },
    ...(item.data === undefined ? {} : { data: sorted(item.data) }),
    ...(item.privateRouting === undefined ? {} : { private_routing: item.privateRouting }),
    ...(item.ptr && { ptr: item.ptr }),
    ...(item.expiresAt !== undefined && { expires_on: printTime(item.expiresAt) }),
    locked: false,
    meta: {
      auto_added: false,
      managed_by_apps: false,
      managed_by_argo_tunnel: false,
      source: 'primary',
      ...(item.bucket !== undefined && { read_only: true, r2_bucket: item.bucket }),
      ...(item.shadowedByBalancer && { shadowed_by_lb: true }),
      ...(item.counterpart && { ptr: counterpartView(item.counterpart) }),
      ...(item.targetFault && { target: item.targetFault }),
      ...(item.warnings && { warnings: item.warnings.map(({ code, text, remedy }) => ({ code, text, remedy })) }),
      ...(item.shadow && shadowView(item.shadow)),
    },
    comment: item.comment,
    tags: [...item.tags],
    created_on: printTime(item.createdAt),
    modified_on: printTime(item.modifiedAt),
    ...(item.commentModifiedAt === undefined ? {} : { comment_modified_on: printTime(item.commentModifiedAt) }),
    ...(item.tagsModifiedAt === undefined ? {} : { tags_modified_on: printTime(item.tagsModifiedAt) }),
  };
}

function counterpartView({ status, zoneId, recordId }: Counterpart) {
  return {
    status,
    ...(zoneId !== undefined && { zone_id: zoneId }),
    ...(recordId !== undefined && { record_id: recordId }),
  };
}

function shadowView({ shadowedBy, isGlue, deadGlue, shadowedRecords }: ShadowItem) {
  return {
    shadowed_by: [...shadowedBy],
    is_glue: isGlue,
    dead_glue: deadGlue,
    ...(shadowedRecords === undefined ? {} : { shadowed_records_count: shadowedRecords }),
  };
}

/** The members of `data` are ordered by name. */
function sorted(data: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const members = Object.keys(data)
    .sort()
    .map((name) => [name, data[name]]);
  return Object.fromEntries(members);
}
