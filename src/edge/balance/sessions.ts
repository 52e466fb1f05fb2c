/** Sessions of clients: which origin one keeps, by a cookie or by fields of its requests. */
import { createHash } from 'node:crypto';
import type { SessionAffinity } from '../../balancing/load-balancer.js';
import { type Clock, steadyMs } from '../../base/clock.js';
import type { EdgeRequest } from '../exchange/exchange.js';
import type { SessionExchange } from '../shared/sessions.js';
import { valuesOf } from './fields.js';
import { printSession, readSession, SESSION_COOKIE, type SessionKeys, takeCookie } from './session-token.js';
import { createSharedSessions } from './shared-sessions.js';

/** By fields, in one process. */
const MOST_SESSIONS = 100_000;

/** What a request says of its session. */
export interface AskedSession {
  /** The origin's token; undefined: it has none yet. */
  readonly token: string | undefined;
  /** Where a session is remembered here; undefined: nowhere. */
  readonly key: string | undefined;
  readonly account: number;
  /** The fields of the request without the session's cookie. */
  readonly headers: readonly string[];
}

/** A load balancer, and the store number of its account. */
export interface SessionsOf {
  readonly id: string;
  readonly account: number;
}

export interface Sessions {
  find(balancer: SessionsOf, affinity: SessionAffinity, request: EdgeRequest): AskedSession;
  /** Remembers the origin of a session by fields. */
  keep(asked: AskedSession, affinity: SessionAffinity, token: string): void;
  /** The value of `Set-Cookie` for a session by cookie. */
  cookieFor(balancer: string, affinity: SessionAffinity, token: string, alwaysHttps: boolean): string;
}

interface Kept {
  readonly token: string;
  readonly untilMs: number;
  /** When the other processes were told of it, or told it. */
  readonly toldMs: number;
}

/** Sessions that two processes began for the same client within this time, milliseconds, began at the same time. */
const SAME_TIME_MS = 1000;

/** `exchange`: with other processes that answer the same clients. */
export function createSessions(clock: Clock, keys: SessionKeys, exchange?: SessionExchange): Sessions {
  const kept = createSharedSessions<Kept>(MOST_SESSIONS);
  exchange?.hear(({ account, key, token, forMs }) => {
    const nowMs = steadyMs(clock);
    const known = kept.get(account, key);
    const isBoth = known !== undefined && known.token !== token && nowMs - known.toldMs < SAME_TIME_MS;
    // Each process hears of the other's, and both keep the same.
    if (!isBoth || token < known.token) kept.set(account, key, { token, untilMs: nowMs + forMs, toldMs: nowMs });
  });
  const nowS = (): number => Math.floor(clock.nowMs() / 1000);
  return {
    find({ id: balancer, account }, affinity, request) {
      const { value, headers } = withoutCookie(request.headers);
      if (affinity.kind === 'none') return { token: undefined, key: undefined, account, headers };
      if (affinity.kind === 'header') {
        const key = keyOf(balancer, affinity, request);
        const found = key === undefined ? undefined : kept.get(account, key);
        const isOver = found === undefined || steadyMs(clock) >= found.untilMs;
        return { token: isOver ? undefined : found.token, key, account, headers };
      }
      const session = value === undefined ? undefined : readSession(keys, balancer, value);
      const isOver = session === undefined || nowS() - session.sinceS >= affinity.ttl;
      return { token: isOver ? undefined : session.token, key: undefined, account, headers };
    },
    keep({ key, account }, { ttl }, token) {
      if (key === undefined) return;
      const [nowMs, forMs] = [steadyMs(clock), ttl * 1000];
      const known = exchange && kept.get(account, key);
      // The others' copies last as long as this one if they are told again in time.
      const isTold = known?.token === token && nowMs - known.toldMs < forMs / 2;
      kept.set(account, key, { token, untilMs: nowMs + forMs, toldMs: isTold ? known.toldMs : nowMs });
      if (!isTold) exchange?.tell({ account, key, token, forMs });
    },
    cookieFor(balancer, affinity, token, alwaysHttps) {
      const value = printSession(keys, balancer, { token, sinceS: nowS() });
      const sameSite = affinity.sameSite === 'Auto' ? (alwaysHttps ? 'None' : 'Lax') : affinity.sameSite;
      // A browser takes SameSite=None only with Secure.
      const isSecure =
        affinity.secure === 'Always' || sameSite === 'None' || (affinity.secure === 'Auto' && alwaysHttps);
      const parts = [
        `${SESSION_COOKIE}=${value}`,
        `Max-Age=${affinity.ttl}`,
        'Path=/',
        'HttpOnly',
        `SameSite=${sameSite}`,
      ];
      return [...parts, ...(isSecure ? ['Secure'] : [])].join('; ');
    },
  };
}

/** Origins do not see the cookie. */
function withoutCookie(headers: readonly string[]): { readonly value?: string; readonly headers: readonly string[] } {
  if (!headers.some((value, i) => i % 2 === 1 && headers[i - 1] === 'cookie' && value.includes(SESSION_COOKIE))) {
    return { headers };
  }
  let found: string | undefined;
  const kept: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    const [name, text] = [headers[i]!, headers[i + 1]!];
    const { value, rest } = name === 'cookie' ? takeCookie(text) : { value: undefined, rest: text };
    found ??= value;
    if (name !== 'cookie' || rest !== '') kept.push(name, rest);
  }
  return { ...(found !== undefined && { value: found }), headers: kept };
}

/** Of the values of the fields that make a session; undefined if the request lacks them. */
function keyOf(
  balancer: string,
  { headers, requireAllHeaders }: SessionAffinity,
  request: EdgeRequest,
): string | undefined {
  const values = headers.flatMap((name) => {
    const [field, cookies] = name.split(':', 2) as [string, string?];
    const own = valuesOf(request, field.toLowerCase());
    if (cookies === undefined) return [own.length === 0 ? undefined : own.join(', ')];
    return cookies.split(',').map((cookie) => cookieNamed(own, cookie.trim()));
  });
  const present = values.filter((value) => value !== undefined);
  if (present.length === 0 || (requireAllHeaders && present.length < values.length)) return undefined;
  return createHash('sha256')
    .update(JSON.stringify([balancer, values]))
    .digest('base64url');
}

function cookieNamed(fields: readonly string[], name: string): string | undefined {
  for (const field of fields) {
    for (const pair of field.split(';')) {
      const at = pair.indexOf('=');
      if (at > 0 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim();
    }
  }
  return undefined;
}
