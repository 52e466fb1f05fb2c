/**
 * One probe of a target: its name is resolved, every address is checked and asked, and what timed out is tried again. The address
 * that was checked is the one that is connected to, also after each redirect.
 */

import type { FailureReason } from '../../balancing/health/failure-reason.js';
import { type Clock, steadyMs } from '../../base/clock.js';
import { parseIP, printIP, unmappedIP } from '../../base/ip.js';
import type { Egress } from '../../egress/egress.js';
import type { Resolver } from '../../resolver/resolve.js';
import { hostOnly, overConnection, ProbeFailure, type TlsOptions } from './dial.js';
import { isRedirect, probeHttp } from './http.js';
import { type Pinger, pingTimed, probeUdp } from './ping.js';
import { type Attempt, PASSED, type Place, type ProbeResult, type ProbeSettings } from './result.js';
import { probeSmtp } from './smtp.js';
import type { TlsContexts } from './tls-contexts.js';

/** What is probed. */
export interface Target {
  /** Store number of the account. */
  readonly account: number;
  readonly settings: ProbeSettings;
  /** IPv4, IPv6, or a host name. */
  readonly address: string;
  readonly port: number;
  /** The header `Host` of the origin or of the monitor. */
  readonly host: string | undefined;
}

export interface ProbeParts {
  readonly clock: Clock;
  readonly egress: Egress;
  readonly resolver: Pick<Resolver, 'resolve'>;
  readonly tls: TlsContexts;
  readonly pinger: Pinger;
}

/** Only so many addresses of a name are asked. */
const MOST_ADDRESSES = 8;
const MOST_REDIRECTS = 5;

/** Probes a target once, with the retries of its monitor. Never rejects because of what the other side does. */
export async function probe(parts: ProbeParts, target: Target): Promise<ProbeResult> {
  for (let retries = target.settings.retries; ; retries--) {
    const result = await attempt(parts, target);
    if (!result.timedOut || retries <= 0) return result;
  }
}

/** Tries every address at once; one that passes is enough. */
async function attempt(parts: ProbeParts, target: Target): Promise<ProbeResult> {
  const { clock } = parts;
  const late = new AbortController();
  const cancel = clock.after(target.settings.timeout * 1000, () => late.abort());
  const own: Attempt = { clock, startedMs: steadyMs(clock), late: late.signal };
  const within = (act: Promise<Passed>): Promise<ProbeResult> =>
    act.then(
      ({ code, rttMs }) => ({ ...resultOf(own, PASSED, code), ...(rttMs !== undefined && { rttMs }) }),
      (error: unknown) => {
        if (!(error instanceof ProbeFailure)) throw error;
        return resultOf(own, error.reason, error.responseCode, error.timedOut);
      },
    );
  try {
    const found = await addressesOf(parts, target.address, target.port, target.account, own);
    if (typeof found === 'string') return resultOf(own, found, undefined);
    const results = await Promise.all(found.map((address) => within(probeAddress(parts, target, address, own))));
    return results.find(({ pass }) => pass) ?? results[0]!;
  } finally {
    cancel();
    late.abort();
  }
}

function resultOf(
  { clock, startedMs }: Attempt,
  reason: FailureReason,
  responseCode: number | undefined,
  timedOut = false,
): ProbeResult {
  return { pass: reason === PASSED, reason, responseCode, rttMs: steadyMs(clock) - startedMs, timedOut };
}

/**
 * The addresses of a host, all of which may be connected to; otherwise why it fails. One address that must not be asked makes the
 * whole name suspect, since others would be sent there.
 */
async function addressesOf(
  { egress, resolver }: ProbeParts,
  host: string,
  port: number,
  account: number,
  { late }: Attempt,
): Promise<readonly string[] | FailureReason> {
  const literal = parseIP(host);
  if (literal) {
    const address = printIP(unmappedIP(literal));
    return egress.refusal('origins', address, port) === undefined ? [address] : 'DNS Internal';
  }
  const answers = await Promise.race([
    Promise.all((['A', 'AAAA'] as const).map((type) => resolver.resolve(host, type, { account }))),
    new Promise<undefined>((resolve) => late.addEventListener('abort', () => resolve(undefined), { once: true })),
  ]);
  if (!answers) return 'DNS Internal';
  const addresses = answers
    .flatMap(({ records }) => records.map(({ content }) => content))
    .filter((one) => parseIP(one));
  if (addresses.length === 0) {
    return answers.some(({ status }) => status === 'servfail' || status === 'timeout')
      ? 'DNS Internal'
      : 'DNS Unknown Host';
  }
  const isRefused = addresses.some((address) => egress.refusal('origins', address, port) !== undefined);
  return isRefused ? 'DNS Internal' : addresses.slice(0, MOST_ADDRESSES);
}

/** Result of a passed probe: the response code, and the round-trip time if it differs from the total time. */
interface Passed {
  readonly code?: number;
  readonly rttMs?: number;
}

async function probeAddress(parts: ProbeParts, target: Target, address: string, own: Attempt): Promise<Passed> {
  const place = {
    address,
    port: target.port,
    host: target.host ?? (parseIP(target.address) ? undefined : target.address),
  };
  switch (target.settings.type) {
    case 'tcp':
      return overConnection(place, undefined, own, async () => ({}));
    case 'smtp':
      return { code: await probeSmtp(place, own) };
    case 'http':
    case 'https':
      return { code: await askAndFollow(parts, target, place, own) };
    case 'icmp_ping':
      return { rttMs: await pingTimed(parts.pinger, address, own) };
    case 'udp_icmp': {
      const rttMs = await pingTimed(parts.pinger, address, own);
      await probeUdp(place, own);
      return { rttMs };
    }
    default:
      throw new ProbeFailure('Monitor Config Error');
  }
}

async function askAndFollow(parts: ProbeParts, target: Target, first: Place, own: Attempt): Promise<number> {
  const { account } = target;
  let { settings } = target;
  let [place, path] = [first, settings.path];
  let isSecure = settings.type === 'https';
  for (let redirects = 0; ; redirects++) {
    const tls: TlsOptions | undefined = isSecure
      ? { context: parts.tls.context(), verified: !settings.allowInsecure }
      : undefined;
    const host = place.host ?? literalHost(place.address, place.port, isSecure);
    const answer = await probeHttp(place, tls, { settings, path, host }, own);
    if (!settings.followRedirects || !isRedirect(answer)) return answer.status;
    if (redirects === MOST_REDIRECTS) throw new ProbeFailure('Response code mismatch error', false, answer.status);
    const base = `${isSecure ? 'https' : 'http'}://${host}${path}`;
    const to = URL.canParse(answer.location!, base) ? new URL(answer.location!, base) : undefined;
    if (!to || !['http:', 'https:'].includes(to.protocol)) {
      throw new ProbeFailure('HTTP Invalid Response', false, answer.status);
    }
    if (to.origin !== new URL(base).origin) settings = withoutCredentials(settings);
    isSecure = to.protocol === 'https:';
    const port = to.port === '' ? (isSecure ? 443 : 80) : Number(to.port);
    const found = await addressesOf(parts, hostOnly(to.hostname), port, account, own);
    if (typeof found === 'string') throw new ProbeFailure(found, false, answer.status);
    place = { address: found[0]!, port, host: to.host };
    path = `${to.pathname}${to.search}`;
  }
}

const CREDENTIALS: ReadonlySet<string> = new Set(['authorization', 'cookie', 'proxy-authorization']);

/** Credentials of a monitor are for its origins, not for the targets of redirects (Fetch §4.4, HTTP-redirect fetch). */
function withoutCredentials(settings: ProbeSettings): ProbeSettings {
  const kept = Object.entries(settings.header).filter(([name]) => !CREDENTIALS.has(name.toLowerCase()));
  return { ...settings, header: Object.fromEntries(kept) };
}

/** `Host` for an address: with its port unless that is the usual one. */
function literalHost(address: string, port: number, isSecure: boolean): string {
  const host = address.includes(':') ? `[${address}]` : address;
  return port === (isSecure ? 443 : 80) ? host : `${host}:${port}`;
}
