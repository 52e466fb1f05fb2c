/** Entries of the audit log as v4 clients read them. */
import type { AuditItem } from '../../control/access/audit.js';
import { printTime } from '../times.js';
import type { AuditEvent, AuditLog } from './schema.js';

export function auditLogView(item: AuditItem): AuditLog {
  const { actor, zone, before, after } = item;
  return {
    id: item.id,
    action: { type: item.action, result: true },
    actor: {
      id: actor.id,
      email: actor.email,
      ip: actor.address,
      type: actor.kind === 'operator' ? 'admin' : 'user',
    },
    interface: item.source.toUpperCase(),
    metadata: {
      request_id: item.requestId,
      credential: actor.kind,
      ...(actor.credential && { credential_id: actor.credential.id }),
      ...(actor.credential?.name && { credential_name: actor.credential.name }),
      ...(actor.systemUser !== null && { system_user: actor.systemUser }),
      ...(zone && { zone_id: zone.id }),
      ...(zone?.name && { zone_name: zone.name }),
    },
    newValue: textOf(after),
    ...(after === undefined ? {} : { newValueJson: after }),
    oldValue: textOf(before),
    ...(before === undefined ? {} : { oldValueJson: before }),
    owner: { id: item.account?.id ?? null },
    resource: { id: item.object, type: item.resource, ...(item.name !== null && { name: item.name }) },
    when: printTime(item.at),
  };
}

function textOf(value: unknown): string {
  return value === undefined ? '' : JSON.stringify(value);
}

export function auditEventView(item: AuditItem): AuditEvent {
  const { actor, account, zone, before, after } = item;
  return {
    id: item.id,
    ...(account && { account }),
    action: { description: item.action, result: 'success', time: printTime(item.at), type: item.verb },
    actor: {
      ...(actor.id !== null && { id: actor.id }),
      ...(actor.kind === 'key' && { context: 'api_key' as const }),
      ...(actor.kind === 'session' && { context: 'dash' as const }),
      ...(actor.kind === 'token' && { context: 'api_token' as const }),
      email: actor.email,
      ...(actor.address !== null && { ip_address: actor.address }),
      ...(actor.credential && { token_id: actor.credential.id }),
      ...(actor.credential?.name && { token_name: actor.credential.name }),
      ...(actor.systemUser !== null && { system_user: actor.systemUser }),
      type: actor.kind === 'operator' ? 'system' : 'user',
    },
    raw: { cf_ray_id: item.requestId },
    resource: {
      ...(item.object !== null && { id: item.object }),
      ...(item.name !== null && { name: item.name }),
      product: item.resource,
      type: item.resource,
      scope: zone ? 'zones' : 'accounts',
      ...(after === undefined ? {} : { request: after }),
      ...(before === undefined ? {} : { response: before }),
    },
    ...(zone && { zone: { id: zone.id, ...(zone.name !== null && { name: zone.name }) } }),
  };
}
