/** Zones as v4 clients read them; the order of the members is part of the contract (v4: §0.8). */
import type { z } from 'zod';
import type { Actor } from '../../control/guard/actor.js';
import { decide } from '../../control/guard/decision.js';
import type { ZoneItem } from '../../control/zones/item.js';
import { proofInWords } from '../../control/zones/proof-words.js';
import type { ZoneState } from '../../control/zones/state.js';
import { printOptionalTime, printTime } from '../times.js';
import type { plan, Zone } from './schema.js';

/** The only plan. Not subscribed, so that clients apply the free plan's limit on comments. */
export const PLAN: z.output<typeof plan> = {
  id: '0feeeeeeeeeeeeeeeeeeeeeeeeeeeeee',
  name: 'Free Website',
  price: 0,
  currency: 'USD',
  frequency: '',
  is_subscribed: false,
  can_subscribe: false,
  legacy_id: 'free',
  legacy_discount: false,
  externally_managed: false,
};

/** What the roles of the caller's user permit in a zone. Like v4, it disregards the policies of tokens. */
export function permissionsOf({ policies: _, ...actor }: Actor, { id: zone, account }: ZoneItem): string[] {
  const may = (area: 'dns' | 'zone', level: 'read' | 'write'): boolean =>
    !(actor.readOnly && level === 'write') && decide(actor, area, level, { zone, account: account.id }).allowed;
  return [
    ...(may('dns', 'write') ? ['#dns_records:edit'] : []),
    ...(may('dns', 'read') ? ['#dns_records:read'] : []),
    ...(may('zone', 'write') ? ['#zone:edit'] : []),
    '#zone:read',
  ];
}

/** `state`: only in lists that were asked for it. */
export function zoneView(item: ZoneItem, permissions: string[], state?: ZoneState): Zone {
  return {
    id: item.id,
    name: item.name,
    status: item.status,
    paused: item.paused,
    type: item.type,
    development_mode: item.developmentMode,
    name_servers: [...item.nameServers],
    original_name_servers: item.originalNameServers === null ? null : [...item.originalNameServers],
    original_registrar: null,
    original_dnshost: null,
    ...(item.vanityNameServers === null ? {} : { vanity_name_servers: [...item.vanityNameServers] }),
    modified_on: printTime(item.modifiedAt),
    created_on: printTime(item.createdAt),
    activated_on: printOptionalTime(item.activatedAt),
    meta: {
      step: 2,
      custom_certificate_quota: 0,
      page_rule_quota: 3,
      phishing_detected: false,
      ...proofView(item),
      ...(item.transferState !== null && { transfer_state: item.transferState }),
    },
    owner: { id: null, type: 'user', email: null },
    account: { id: item.account.id, name: item.account.name },
    tenant: { id: null, name: null },
    tenant_unit: { id: null },
    permissions,
    plan: PLAN,
    ...(item.verificationKey === null ? {} : { verification_key: item.verificationKey }),
    ...(state && { state: stateView(state) }),
  };
}

/** Ours. */
function proofView(item: ZoneItem) {
  const { by, at, contested, record } = item.proof;
  return {
    proven_by: by,
    proven_at: printOptionalTime(at),
    contested,
    proof_record: { ...record, type: 'TXT' as const },
    proof_detail: proofInWords(item),
  };
}

function stateView({ secondaries: { count, inSync }, ...state }: ZoneState): NonNullable<Zone['state']> {
  return { ...state, secondaries: { count, in_sync: inSync } };
}
