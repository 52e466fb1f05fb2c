/** Monitors: how origins are probed. */
import { toHex } from '../base/bytes.js';
import { type Members, memberOr, parseMembers, textOr } from './members.js';

export const MONITOR_TYPES = ['http', 'https', 'tcp', 'udp_icmp', 'icmp_ping', 'smtp'] as const;

export type MonitorType = (typeof MONITOR_TYPES)[number];

/** A monitor with all defaults. */
export interface Monitor {
  /** 32 hexadecimal digits, here and below. */
  readonly id: string;
  readonly type: MonitorType;
  readonly description: string;
  readonly method: string;
  readonly path: string;
  readonly header: Readonly<Record<string, readonly string[]>>;
  /** Never 0: that of the type, unless the owner wrote one. Undefined for icmp_ping. */
  readonly port: number | undefined;
  /** Such as `200`, `2xx` or `200,301-303`. */
  readonly expectedCodes: string;
  /** Empty: any body. */
  readonly expectedBody: string;
  readonly followRedirects: boolean;
  readonly allowInsecure: boolean;
  /** Seconds. */
  readonly interval: number;
  readonly timeout: number;
  readonly retries: number;
  /** Failures, or passes, in a row that change the state: at least 1. */
  readonly consecutiveDown: number;
  readonly consecutiveUp: number;
}

/** What members that are absent mean. The members are those of clients. */
export const MONITOR_DEFAULTS = {
  type: 'http',
  description: '',
  path: '/',
  header: {},
  port: 0,
  expected_codes: '200',
  expected_body: '',
  follow_redirects: false,
  allow_insecure: false,
  probe_zone: '',
  interval: 60,
  timeout: 5,
  retries: 2,
  consecutive_up: 0,
  consecutive_down: 0,
} as const;

/** What is stored of something. */
export interface StoredSettings {
  readonly id: Uint8Array;
  /** JSON. */
  readonly settings: string;
}

const USUAL_PORTS: Partial<Readonly<Record<MonitorType, number>>> = { http: 80, https: 443 };

/** The method of a monitor whose owner wrote none. */
export function usualMethod(type: MonitorType): string {
  if (type === 'http' || type === 'https') return 'GET';
  return type === 'tcp' ? 'connection_established' : '';
}

export function monitorOf({ id, settings }: StoredSettings): Monitor {
  return monitorOfMembers(toHex(id), parseMembers(settings));
}

/** A monitor that need not be stored: that of a preview. */
export function monitorOfMembers(id: string, members: Members): Monitor {
  const type = memberOr<MonitorType>(members, 'type', MONITOR_DEFAULTS.type);
  return {
    id,
    type,
    description: memberOr(members, 'description', ''),
    method: textOr<string>(members, 'method', usualMethod(type)),
    path: textOr<string>(members, 'path', MONITOR_DEFAULTS.path),
    header: memberOr(members, 'header', MONITOR_DEFAULTS.header),
    port: memberOr(members, 'port', 0) || USUAL_PORTS[type],
    expectedCodes: textOr<string>(members, 'expected_codes', MONITOR_DEFAULTS.expected_codes),
    expectedBody: memberOr(members, 'expected_body', ''),
    followRedirects: memberOr<boolean>(members, 'follow_redirects', MONITOR_DEFAULTS.follow_redirects),
    allowInsecure: memberOr<boolean>(members, 'allow_insecure', MONITOR_DEFAULTS.allow_insecure),
    interval: memberOr<number>(members, 'interval', MONITOR_DEFAULTS.interval),
    timeout: memberOr<number>(members, 'timeout', MONITOR_DEFAULTS.timeout),
    retries: memberOr<number>(members, 'retries', MONITOR_DEFAULTS.retries),
    consecutiveDown: Math.max(1, memberOr<number>(members, 'consecutive_down', MONITOR_DEFAULTS.consecutive_down)),
    consecutiveUp: Math.max(1, memberOr<number>(members, 'consecutive_up', MONITOR_DEFAULTS.consecutive_up)),
  };
}

/** Monitors that together say whether an origin is healthy. */
export interface MonitorGroup {
  readonly id: string;
  readonly description: string;
  readonly members: readonly MonitorGroupMember[];
}

export interface MonitorGroupMember {
  readonly monitor: string;
  readonly enabled: boolean;
  /** Its results are shown and decide nothing. */
  readonly monitoringOnly: boolean;
  /** An origin that it finds unhealthy is unhealthy, whatever the others find. */
  readonly mustBeHealthy: boolean;
}

/** A member of a group as it is stored; times are microseconds since 1970. */
export interface StoredGroupMember {
  readonly monitor_id: string;
  readonly enabled: boolean;
  readonly monitoring_only: boolean;
  readonly must_be_healthy: boolean;
  readonly created_at: number;
  readonly updated_at: number;
}

export function monitorGroupOf({ id, settings }: StoredSettings): MonitorGroup {
  const members = parseMembers(settings);
  return {
    id: toHex(id),
    description: memberOr(members, 'description', ''),
    members: memberOr<readonly StoredGroupMember[]>(members, 'members', []).map((member) => ({
      monitor: member.monitor_id,
      enabled: member.enabled,
      monitoringOnly: member.monitoring_only,
      mustBeHealthy: member.must_be_healthy,
    })),
  };
}
