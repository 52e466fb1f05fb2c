/**
 * Types of alerts: the kinds of events that each covers, and the filters that select among them. The vendor's types where it has them,
 * and our own in addition. Pure.
 */
import { coversKind as covers } from '../control/kernel/event.js';
import type { BriefEvent, EventStates } from '../store/log/events-query.js';

/** Filters by which a policy selects among the events of a type. */
export const FILTERS = {
  zones: 'Identifiers of zones of the account',
  event_type: 'Kinds of events, such as `record.edit`; `record.*` matches all kinds of events about records',
  pool_id: 'Identifiers of pools of the account',
  new_health: '`Healthy` or `Unhealthy`',
  enabled: '`true` or `false`: whether the pool is enabled after the change',
} as const;

export type FilterName = keyof typeof FILTERS;

export interface AlertType {
  readonly type: string;
  /** Heading under which it is listed. */
  readonly group: string;
  readonly name: string;
  readonly description: string;
  /** Kinds of events; `record.*` matches all kinds of events about records. */
  readonly kinds: readonly string[];
  readonly filters: readonly FilterName[];
  /** A further condition on events. */
  readonly test?: (states: EventStates) => boolean;
}

const [DNS, TLS, BALANCING, SECONDARY, SERVICE] = [
  'DNS',
  'SSL/TLS',
  'Origin Monitoring',
  'Secondary DNS',
  'Installation',
];

export const ALERT_TYPES: readonly AlertType[] = [
  {
    type: 'universal_ssl_event_type',
    ...{ group: TLS, name: 'Certificate Events', filters: ['zones'] },
    description: 'A certificate was issued, is delayed, failed, is about to expire, or has recovered.',
    kinds: ['certificate.*'],
  },
  {
    type: 'load_balancing_health_alert',
    ...{ group: BALANCING, name: 'Load Balancing Health', filters: ['pool_id', 'new_health'] },
    description: 'The health of a pool or of its origins has changed.',
    kinds: ['pool.health'],
  },
  {
    type: 'load_balancing_pool_enablement_alert',
    ...{ group: BALANCING, name: 'Pool Enablement', filters: ['pool_id', 'enabled'] },
    description: 'A pool was enabled or disabled.',
    kinds: ['pool.edit'],
    test: ({ before, after }) => isEnabled(before) !== isEnabled(after),
  },
  {
    type: 'secondary_dns_all_primaries_failing',
    ...{ group: SECONDARY, name: 'All Primaries Failing', filters: ['zones'] },
    description: 'A zone cannot be transferred from its primaries, or can be transferred again.',
    kinds: ['zone.transfer_fail', 'zone.transfer_recover', 'zone.expire', 'zone.revive'],
  },
  {
    type: 'secondary_dns_zone_successfully_updated',
    ...{ group: SECONDARY, name: 'Secondary Zone Updated', filters: ['zones'] },
    description: 'A zone was transferred from a primary and has changed.',
    kinds: ['zone.transfer'],
  },
  {
    type: 'zoneplane_secondaries',
    ...{ group: SECONDARY, name: 'Secondaries Behind', filters: ['zones'] },
    description: 'A secondary of a zone is behind, or has caught up.',
    kinds: ['secondary.*'],
  },
  {
    type: 'zoneplane_record',
    ...{ group: DNS, name: 'Records Changed', filters: ['zones', 'event_type'] },
    description: 'Records were created, edited, replaced, deleted or imported.',
    kinds: ['record.*'],
  },
  {
    type: 'zoneplane_zone',
    ...{ group: DNS, name: 'Zones Changed', filters: ['zones', 'event_type'] },
    description: 'A zone, its settings or its standing has changed.',
    kinds: ['zone.*', 'zone_settings.*', 'zone_hold.*', 'dns_settings.*'],
  },
  {
    type: 'zoneplane_dnssec',
    ...{ group: DNS, name: 'DNSSEC', filters: ['zones', 'event_type'] },
    description: 'A DS record or a rollover needs action, or the signing of a zone has changed.',
    kinds: ['dnssec.*'],
  },
  {
    type: 'zoneplane_custom_hostname',
    ...{ group: TLS, name: 'Custom Hostnames', filters: ['zones', 'event_type'] },
    description: 'A custom hostname was created, edited, activated, moved or deleted.',
    kinds: ['custom_hostname.*'],
  },
  {
    type: 'zoneplane_sign_in',
    ...{ group: SERVICE, name: 'Credentials Refused', filters: [] },
    description: 'A credential was refused.',
    kinds: ['sign_in.refuse'],
  },
  {
    type: 'zoneplane_backup',
    ...{ group: SERVICE, name: 'Backups', filters: [] },
    description: 'The newest backup is too old, or a new one was made after that.',
    kinds: ['backup.*'],
  },
  {
    type: 'zoneplane_webhook',
    ...{ group: SERVICE, name: 'Destinations', filters: [] },
    description: 'A destination of alerts was switched off because it failed for a day or answered 410.',
    kinds: ['webhook.disable'],
  },
  {
    type: 'zoneplane_event',
    ...{ group: SERVICE, name: 'All Events', filters: ['zones', 'event_type'] },
    description: 'Everything that happens in the account.',
    kinds: ['*'],
  },
];

export function findAlertType(type: string): AlertType | undefined {
  return ALERT_TYPES.find((known) => known.type === type);
}

export type Filters = Readonly<Partial<Record<FilterName, readonly string[]>>>;

/** An event, and a function that reads its states, which few types and filters need. */
export interface Judged {
  readonly event: BriefEvent;
  readonly states: () => EventStates;
}

/** Whether an event belongs to the type and passes the filters. */
export function isToldOf({ kinds, test }: AlertType, filters: Filters, judged: Judged): boolean {
  if (!kinds.some((pattern) => covers(pattern, judged.event.kind))) return false;
  if (test?.(judged.states()) === false) return false;
  return Object.entries(filters).every(
    ([name, values]) => values.length === 0 || passes(name as FilterName, values, judged),
  );
}

function passes(name: FilterName, values: readonly string[], { event, states }: Judged): boolean {
  switch (name) {
    case 'zones':
      return event.zone !== null && values.includes(event.zone);
    case 'event_type':
      return values.some((pattern) => covers(pattern, event.kind));
    case 'pool_id':
      return event.subject !== null && values.includes(event.subject);
    case 'new_health':
      return values.includes(memberOf(states().after, 'state') === 'healthy' ? 'Healthy' : 'Unhealthy');
    case 'enabled':
      return values.includes(String(isEnabled(states().after)));
  }
}

function memberOf(text: string | null, name: string): unknown {
  const value: unknown = text === null ? undefined : JSON.parse(text);
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

/** Pools are enabled by default. */
function isEnabled(pool: string | null): boolean {
  return memberOf(pool, 'enabled') !== false;
}

/** Whether an event begins or ends a condition, such as a failure. */
export function phaseOf(kind: string): 'START' | 'END' | undefined {
  if (/\.(transfer_fail|expire|behind|wait|fail|overdue|ds_wait|rollover_wait|begin)$/.test(kind)) return 'START';
  return /\.(transfer_recover|revive|recover|wait_end|end)$/.test(kind) ? 'END' : undefined;
}
