/**
 * Session cookies: which origin a client has, authenticated, without a name or an address in clear. The key is derived from the
 * secret that also protects session tickets, and is replaced with it; the one before stays good for what it has signed.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

export const SESSION_COOKIE = '__cflb';

/** Octets of an origin's name, of the time (seconds since 1970), and of the code. */
const TOKEN = 12;
const TIME = 4;
const CODE = 16;
const FORM = /^[A-Za-z0-9_-]{43}$/;

/** What a cookie calls an origin: nobody learns its name from it. */
export function originToken(pool: string, origin: string): string {
  return createHash('sha256').update(`${pool} ${origin}`).digest().subarray(0, TOKEN).toString('hex');
}

/** Newest first. */
export type SessionKeys = () => readonly Buffer[];

export interface Session {
  /** As {@link originToken} makes it. */
  readonly token: string;
  /** Seconds since 1970. */
  readonly sinceS: number;
}

/** `balancer`: identifier of the load balancer for which alone it is good. */
export function printSession(keys: SessionKeys, balancer: string, { token, sinceS }: Session): string {
  const time = Buffer.alloc(TIME);
  time.writeUInt32BE(sinceS);
  const said = Buffer.concat([Buffer.from(token, 'hex'), time]);
  return Buffer.concat([said, codeOf(keys()[0]!, balancer, said)]).toString('base64url');
}

/** Undefined for what this installation has not made for this load balancer. */
export function readSession(keys: SessionKeys, balancer: string, text: string): Session | undefined {
  if (!FORM.test(text)) return undefined;
  const octets = Buffer.from(text, 'base64url');
  const [said, code] = [octets.subarray(0, TOKEN + TIME), octets.subarray(TOKEN + TIME)];
  if (code.length !== CODE) return undefined;
  if (!keys().some((key) => timingSafeEqual(code, codeOf(key, balancer, said)))) return undefined;
  return { token: said.subarray(0, TOKEN).toString('hex'), sinceS: said.readUInt32BE(TOKEN) };
}

function codeOf(key: Buffer, balancer: string, said: Buffer): Buffer {
  return createHmac('sha256', key).update(balancer).update(said).digest().subarray(0, CODE);
}

/** The value of the cookie in a field of a request, and the field without it; empty when nothing else is there. */
export function takeCookie(field: string): { readonly value: string | undefined; readonly rest: string } {
  if (!field.includes(SESSION_COOKIE)) return { value: undefined, rest: field };
  let value: string | undefined;
  const kept = field.split(';').filter((pair) => {
    const at = pair.indexOf('=');
    if (at < 0 || pair.slice(0, at).trim() !== SESSION_COOKIE) return pair.trim() !== '';
    value ??= pair.slice(at + 1).trim();
    return false;
  });
  return { value, rest: kept.join(';').trim() };
}
