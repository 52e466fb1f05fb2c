/** The error answers of the edge: codes, statuses, causes and remedies. */
import { STATUS_CODES } from 'node:http';
import type { RouteCause } from '../../hostnames/routing/find-route.js';

/** Statuses from 520 and codes from 1000 are those of the vendor, which operators know. */
const FAILURES = {
  badRequest: { status: 400, code: 400, title: 'Bad request' },
  badVersion: { status: 505, code: 505, title: 'HTTP version not supported' },
  privateBucket: { status: 403, code: 403, title: 'This bucket is not public' },
  notAllowed: { status: 405, code: 405, title: 'Method not allowed' },
  timeout: { status: 408, code: 408, title: 'Request timeout' },
  tooLarge: { status: 413, code: 413, title: 'Content too large' },
  longTarget: { status: 414, code: 414, title: 'URI too long' },
  misdirected: { status: 421, code: 421, title: 'Misdirected request' },
  headersTooLarge: { status: 431, code: 431, title: 'Request header fields too large' },
  overloaded: { status: 503, code: 503, title: 'Service unavailable', retryAfterS: 5 },
  rules: { status: 500, code: 500, title: 'Internal error' },
  fault: { status: 500, code: 500, title: 'Internal error' },
  loop: { status: 508, code: 508, title: 'Loop detected' },
  prohibitedOrigin: { status: 403, code: 1000, title: 'DNS points to a prohibited address' },
  crossAccount: { status: 403, code: 1014, title: 'CNAME Cross-User Banned' },
  unknownHost: { status: 409, code: 1001, title: 'DNS resolution error' },
  originDns: { status: 530, code: 1016, title: 'Origin DNS error' },
  unreadable: { status: 520, code: 520, title: 'Web server returned an unknown error' },
  refused: { status: 521, code: 521, title: 'Web server is down' },
  connectTimeout: { status: 522, code: 522, title: 'Connection timed out' },
  unreachable: { status: 523, code: 523, title: 'Origin is unreachable' },
  responseTimeout: { status: 524, code: 524, title: 'A timeout occurred' },
  tlsHandshake: { status: 525, code: 525, title: 'SSL handshake failed' },
  originCertificate: { status: 526, code: 526, title: 'Invalid SSL certificate' },
} as const;

/** Titles of the statuses that HTTP does not register. */
const TITLES: ReadonlyMap<number, string> = new Map(
  Object.values(FAILURES)
    .filter(({ status }) => status >= 520)
    .map(({ status, title }) => [status, title]),
);

/** The reason phrase of a status (RFC 9112 §4). */
export function reasonOf(status: number): string {
  return STATUS_CODES[status] ?? TITLES.get(status) ?? '';
}

export type FailureName = keyof typeof FAILURES;

/** For the operator only; the public sees the code. */
export interface Failure {
  readonly name: FailureName;
  readonly status: number;
  readonly code: number;
  readonly title: string;
  /** Seconds after which it is worth asking again. */
  readonly retryAfterS?: number;
  readonly cause?: string;
  readonly remedy?: string;
}

export function failureOf(name: FailureName, cause?: string, remedy?: string): Failure {
  return {
    name,
    ...FAILURES[name],
    ...(cause !== undefined && { cause }),
    ...(remedy !== undefined && { remedy }),
  };
}

/** The remedy for each cause of 1016. */
const REMEDIES: Readonly<Record<RouteCause, string>> = {
  ownership:
    'The custom hostname is not active. GET /zones/{zone_id}/custom_hostnames?hostname={host} shows verification_errors; the name must be a CNAME to this zone.',
  fallback_origin:
    'The zone has no usable fallback origin. PUT /zones/{zone_id}/custom_hostnames/fallback_origin, and make a proxied A, AAAA or CNAME record of that name.',
  standalone_zone:
    'The name lies in a zone of its own, which takes precedence over a wildcard custom hostname. Add the very name as a custom hostname, or a proxied record to its zone.',
  load_balancer:
    'No pool of the load balancer takes requests, and its fallback pool is disabled or has no origin. GET /accounts/{account_id}/load_balancers/pools/{pool_id}/health shows why.',
  origin_dns:
    'The name the traffic is sent to has no address. Check the proxied CNAME record, or custom_origin_server of the custom hostname.',
};

export function routeFailure(cause: RouteCause): Failure {
  return failureOf('originDns', cause, REMEDIES[cause]);
}
