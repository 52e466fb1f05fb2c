/**
 * Header fields that are forwarded and those that are not (RFC 9110 §7.6.1), and fields that the edge adds for the origin.
 * Pure.
 */
import { loopNames } from '../../http/cdn-loop.js';
import type { EdgeRequest, HeaderList } from '../exchange/exchange.js';

/** Fields that concern only one connection, and the field that each edge sets itself: an origin may be behind another edge. */
export const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
  'cf-ray',
]);

/** Fields that only the edge sets. A client's own fields of these names never reach an origin. */
const OF_THE_EDGE: ReadonlySet<string> = new Set([
  'true-client-ip',
  'x-forwarded-proto',
  'x-forwarded-for',
  'cdn-loop',
]);

/** Names that `Connection` lists: those fields concern only this connection. */
function connectionNames(headers: HeaderList): ReadonlySet<string> {
  let names: Set<string> | undefined;
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i] !== 'connection') continue;
    for (const name of headers[i + 1]!.split(',')) {
      names ??= new Set();
      names.add(name.trim().toLowerCase());
    }
  }
  return names ?? NO_NAMES;
}

const NO_NAMES: ReadonlySet<string> = new Set();

/** The fields to forward. */
export function endToEndHeaders(headers: HeaderList): string[] {
  const named = connectionNames(headers);
  const kept: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!;
    if (HOP_BY_HOP.has(name) || named.has(name)) continue;
    kept.push(name, headers[i + 1]!);
  }
  return kept;
}

/** What differs between installations. */
export interface HeaderRules {
  /** The name in `CDN-Loop` (RFC 8586). */
  readonly loopId: string;
  /** Whether fields reach origins whose names have underscores. */
  readonly keepsUnderscores: boolean;
}

/** Names that programs behind an origin may take for others: CGI (RFC 3875 §4.1.18) and what follows it know letters only. */
const AMBIGUOUS = /[^a-z0-9-]/;

function isDropped(name: string, { keepsUnderscores }: HeaderRules): boolean {
  if (name.startsWith('cf-') || OF_THE_EDGE.has(name)) return true;
  if (!AMBIGUOUS.test(name)) return false;
  if (!keepsUnderscores && name.includes('_')) return true;
  const merged = name.replace(/[^a-z0-9]/g, '-');
  return merged.startsWith('cf-') || OF_THE_EDGE.has(merged);
}

/** The header fields for the origin. */
export interface OriginHeaders {
  /** A frozen list if further requests of the client have the same fields. */
  readonly headers: HeaderList;
  /** The fields of this request alone. */
  readonly more: string[];
}

/** What `headers` were made from, besides the fields that the client sent. */
interface Shared extends HeaderRules, Pick<EdgeRequest, 'authority' | 'client' | 'scheme'> {
  readonly headers: HeaderList;
}

/** Cached for frozen field lists, which repeat. */
const known = new WeakMap<HeaderList, Shared>();

export function originHeaders(request: EdgeRequest, rules: HeaderRules): OriginHeaders {
  return { headers: headersForAll(request, rules), more: ['cf-ray', request.ray] };
}

/** Those of {@link originHeaders} that are not of one request alone. */
export function headersForAll(request: EdgeRequest, rules: HeaderRules): HeaderList {
  const last = request.body ? undefined : known.get(request.headers);
  const { authority, client, scheme } = request;
  const { loopId, keepsUnderscores } = rules;
  if (
    last?.authority === authority &&
    last.client === client &&
    last.scheme === scheme &&
    last.loopId === loopId &&
    last.keepsUnderscores === keepsUnderscores
  ) {
    return last.headers;
  }
  const headers = sharedHeaders(request, rules);
  if (request.body || !Object.isFrozen(request.headers)) return headers;
  Object.freeze(headers);
  known.set(request.headers, { authority, client, scheme, loopId, keepsUnderscores, headers });
  return headers;
}

function sharedHeaders(request: EdgeRequest, rules: HeaderRules): string[] {
  const { headers, authority, client, scheme } = request;
  const mayExpect = request.body !== undefined && request.httpVersion !== '1.0';
  const sent = ['host', authority];
  let forwarded = '';
  let loop = '';
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!;
    const value = headers[i + 1]!;
    if (name === 'x-forwarded-for') forwarded += `${value}, `;
    else if (name === 'cdn-loop') loop += `${value}, `;
    // `Expect: 100-continue` is for the origin to answer, if a body follows (RFC 9110 §10.1.1).
    else if (name === 'host' || (name === 'expect' && !mayExpect) || isDropped(name, rules)) continue;
    else sent.push(name, value);
  }
  sent.push('x-forwarded-for', forwarded + client, 'x-forwarded-proto', scheme);
  sent.push('cf-connecting-ip', client, 'true-client-ip', client);
  sent.push('cf-visitor', `{"scheme":"${scheme}"}`, 'cdn-loop', loop + rules.loopId);
  return sent;
}

/** Whether a request has been here before: its `CDN-Loop` names this installation (RFC 8586 §2). */
export function hasLooped(headers: HeaderList, loopId: string): boolean {
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i] !== 'cdn-loop') continue;
    if (loopNames(headers[i + 1]!, loopId)) return true;
  }
  return false;
}
