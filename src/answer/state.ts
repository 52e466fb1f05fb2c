/** The state of one engine between queries: settings, and objects that are created once and reused for every answer. */

import { systemRandom } from '../base/random.js';
import { createBalance, type OwnPlace } from './balance/choose.js';
import { type CookieJar, createCookieJar } from './cookie.js';
import type { MadeTable } from './made.js';
import { createQuery, type Query } from './query.js';
import { createRateLimiter, type RateLimiter, type RateLimitSettings } from './rate-limit.js';
import { createResponse, type Response } from './response.js';
import { createSearch, type Search } from './search.js';
import { signingTimeOf } from './signing-time.js';
import { type Client, createClient } from './transport.js';

export interface EngineSettings {
  /** Largest UDP payload that is sent and advertised, octets (RFC 6891 §6.2.5; 1232 avoids fragments). */
  readonly udpSize: number;
  /** Answer to `version.bind CH TXT`; empty: refused. */
  readonly version: string;
  /** Answer to `id.server CH TXT`, `hostname.bind CH TXT` and NSID (RFC 5001); empty: refused and not sent. */
  readonly identity: string;
  /** How long idle connections stay open, in milliseconds; sent to clients that ask (RFC 7828). */
  readonly idleMs: number;
  /**
   * 16 octets each: the first generates cookies, the others are also accepted (RFC 9018 §5). Without any, cookies are
   * ignored.
   */
  readonly cookieSecrets: readonly Uint8Array[];
  /** Over UDP, a client whose cookie has no valid server cookie must retry with one (RFC 7873 §5.2.3). */
  readonly requireCookies: boolean;
  /** The rate limit of UDP answers; absent: no limit. */
  readonly rateLimit?: RateLimitSettings | undefined;
  /** Marks of the names of TSIG keys (name-marks.ts), shared by all threads; absent: there are none. */
  readonly keyNames?: SharedArrayBuffer | undefined;
  /** The same of the apexes of zones that have primaries, from which NOTIFY may come; absent: there are none. */
  readonly secondaryNames?: SharedArrayBuffer | undefined;
  /** The time that may be spent on signatures (signing-time.ts), shared by all threads; absent: none over UDP. */
  readonly signingTime?: SharedArrayBuffer | undefined;
  /** Whether every answer echoes a client subnet (RFC 7871 §7.2.1), not only those that may depend on it. */
  readonly echoesSubnets?: boolean | undefined;
  /** Where this server is, for load balancers; absent: not told. */
  readonly own?: OwnPlace | undefined;
  /** 16 octets with which choices of load balancers begin; absent: random ones. */
  readonly seed?: Uint8Array | undefined;
}

export const DEFAULT_ENGINE_SETTINGS: EngineSettings = {
  udpSize: 1232,
  version: '',
  identity: '',
  idleMs: 10_000,
  cookieSecrets: [],
  requireCookies: false,
};

export interface Engine {
  readonly query: Query;
  readonly search: Search;
  readonly response: Response;
  readonly settings: EngineSettings;
  readonly version: Uint8Array;
  readonly identity: Uint8Array;
  readonly jar: CookieJar;
  readonly limiter: RateLimiter | undefined;
  /** Marks of the names of TSIG keys; undefined: there are none. */
  readonly keyNames: Int32Array | undefined;
  /** RRsetSource bits of the answer without its additional section. */
  sources: number;
  /** Marks of the apexes of zones that have primaries; undefined: there are none. */
  readonly secondaryNames: Int32Array | undefined;
  /** The time that may be spent on signatures. */
  readonly signingTime: Int32Array<SharedArrayBuffer> | undefined;
  /** Whether another part answers the query. */
  deferred: boolean;
  /** Result of checking the query's cookie, a Cookie code; none without a client. */
  cookie: number;
  client: Client;
  /** The transport of the query, a Transport code. */
  transport: number;
  /** Octet offset in the image of the answering zone's serial; 0 when no zone answered. */
  serialAt: number;
  /** Labels of that zone's apex. */
  zoneLabels: number;
  /** When that zone, a secondary one, expires (seconds since 1970); 0 for other zones. */
  expiresAt: number;
  /** The time of the query, seconds since 1970; 0 without a client. */
  seconds: number;
}

const NOWHERE: OwnPlace = { pop: 0, region: 0 };

/** `made`: records that are signed for answers of this engine. */
export function createEngineState(settings: EngineSettings, made?: MadeTable): Engine {
  const query = createQuery();
  return {
    query,
    search: createSearch(query, createBalance(settings.own ?? NOWHERE, settings.seed ?? systemRandom.bytes(16)), made),
    response: createResponse(),
    settings,
    version: latin1(settings.version),
    identity: latin1(settings.identity),
    jar: createCookieJar(settings.cookieSecrets),
    limiter: settings.rateLimit && createRateLimiter(settings.rateLimit),
    keyNames: settings.keyNames && new Int32Array(settings.keyNames),
    sources: 0,
    secondaryNames: settings.secondaryNames && new Int32Array(settings.secondaryNames),
    signingTime: settings.signingTime && signingTimeOf(settings.signingTime),
    deferred: false,
    cookie: 0,
    client: createClient(),
    transport: 0,
    serialAt: 0,
    zoneLabels: 0,
    expiresAt: 0,
    seconds: 0,
  };
}

/** Encodes a text that fits into a `<character-string>`. */
function latin1(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text.slice(0, 255), 'latin1'));
}
