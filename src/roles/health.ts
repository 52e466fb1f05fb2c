/** Checks whether a running server answers its clients: one HTTP request and one real DNS query. */
import type { Clock } from '../base/clock.js';
import { messageOf } from '../base/errors.js';
import { createUpstream } from '../resolver/upstream.js';

export interface HealthTarget {
  /** Such as `http://127.0.0.1:8053`. */
  readonly adminUrl: string;
  readonly dns: { readonly host: string; readonly port: number };
  /** A served zone; without one, REFUSED is the expected answer. */
  readonly zone: string | undefined;
}

export interface HealthFinding {
  readonly what: 'http' | 'dns';
  readonly ok: boolean;
  readonly text: string;
  /** Zones that queries see in their former state, because their changes cannot be published; known from HTTP. */
  readonly heldZones?: readonly string[];
}

/** A name below a top-level domain that never exists (RFC 6761 §6.4), so no server has it. */
const FOREIGN_NAME = 'healthcheck.invalid';

/** Checks both; never rejects. */
export async function checkHealth(target: HealthTarget, clock: Clock, timeoutMs: number): Promise<HealthFinding[]> {
  return Promise.all([checkHttp(target.adminUrl, timeoutMs), checkDns(target, clock, timeoutMs)]);
}

async function checkHttp(adminUrl: string, timeoutMs: number): Promise<HealthFinding> {
  const url = `${adminUrl}/readyz`;
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs), redirect: 'error' });
    const { held_zones: heldZones = [], reason } = (await response.json()) as {
      readonly held_zones?: readonly string[];
      readonly reason?: string;
    };
    const text = `${url} answered ${response.status}${reason === undefined ? '' : `: ${reason}`}`;
    return { what: 'http', ok: response.status === 200, text, heldZones };
  } catch (error) {
    const cause = error instanceof Error && error.cause ? messageOf(error.cause) : messageOf(error);
    return { what: 'http', ok: false, text: `${url} did not answer: ${cause}` };
  }
}

async function checkDns({ dns, zone }: HealthTarget, clock: Clock, timeoutMs: number): Promise<HealthFinding> {
  const upstream = createUpstream({ servers: [dns], clock, timeoutMs, deadlineMs: timeoutMs });
  const name = zone ?? FOREIGN_NAME;
  const { status, reason = '' } = await upstream.query(name, 'SOA');
  const ok = zone === undefined ? reason.includes('answered REFUSED') : status === 'ok';
  const outcome = ok ? 'answered' : `: ${reason || status}`;
  return { what: 'dns', ok, text: `${dns.host} port ${dns.port}, ${name} SOA ${outcome}`.replace(' :', ':') };
}
