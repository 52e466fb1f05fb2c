/**
 * Whether a hostname is meant for a zone: where it leads, and whether the zone's token stands there (edge specification §5).
 */
import { createHash } from 'node:crypto';
import { equalBytes } from '../base/bytes.js';
import { parseIP } from '../base/ip.js';
import type { Resolution, Resolver } from '../resolver/resolve.js';
import type { HostnameEvidence } from '../serving/hostname-proof.js';
import type { HostnameRow } from '../store/hostnames/hostnames.js';
import type { ZoneRow } from '../store/zones/zones.js';
import { withoutWildcard } from './name.js';
import type { TokenFetch } from './token-fetch.js';

/** Where a hostname leads. */
export type Pointing =
  | { readonly kind: 'here'; readonly evidence: HostnameEvidence }
  /** `own`: zones of ours say so, which nothing can make uncertain. */
  | { readonly kind: 'elsewhere'; readonly own: boolean }
  | { readonly kind: 'unsure'; readonly why: 'servfail' | 'timeout' };

export interface Findings {
  readonly pointing: Pointing;
  /** Its token, when that was looked for and found. */
  readonly token?: HostnameEvidence;
}

export interface Question {
  readonly row: HostnameRow;
  /** The zone it is to be served by. */
  readonly zone: Pick<ZoneRow, 'name' | 'account' | 'unique_targets'>;
  /** Addresses that prove it as well; none unless the account may have that. */
  readonly addresses: readonly Uint8Array[];
  /** Its token is looked for although it is active. */
  readonly anew?: boolean;
  /** Cached answers are not used. */
  readonly fresh: boolean;
}

export const HTTP_TOKEN_PATH = '/.well-known/cf-custom-hostname-challenge/';

/** Name of the TXT record that holds the token of a hostname. */
export function txtTokenName(hostname: string): string {
  return `_cf-custom-hostname.${withoutWildcard(hostname)}`;
}

/**
 * A name in the zone that belongs to one hostname only, without final dot. A hostname that is created again gets another name,
 * so a CNAME that a customer left behind proves nothing.
 */
export function uniqueTarget({ id }: Pick<HostnameRow, 'id'>, zone: string): string {
  const label = createHash('sha256').update(`custom hostname ${id}`).digest('hex').slice(0, 16);
  return `${label}.${zone}`;
}

/** Looks for tokens only if no CNAME leads here, and the hostname is not verified yet or has to be anew. */
export async function findOut(resolver: Resolver, fetchToken: TokenFetch, question: Question): Promise<Findings> {
  const pointing = await findPointing(resolver, question);
  const proved = pointing.kind === 'here' && pointing.evidence.by === 'cname';
  if (proved || (question.row.state === 'active' && !question.anew)) return { pointing };
  const token = await findToken(resolver, fetchToken, question);
  return token ? { pointing, token } : { pointing };
}

async function findPointing(resolver: Resolver, question: Question): Promise<Pointing> {
  const { row, addresses, fresh } = question;
  const { name: zone, account } = question.zone;
  // Zones of the account say something to itself before they are proven, and what they hide behind the edge.
  const options = { bypassCache: fresh, account };
  // Active hostnames may keep their target when the zone begins to require unique targets.
  const unique = question.zone.unique_targets === 1 && row.state !== 'active';
  const own = uniqueTarget(row, zone);
  const ipv4 = await resolver.resolve(row.hostname, 'A', options);
  const leadsHere = ({ target }: { readonly target: string }): boolean =>
    unique ? target === own : isAtOrBelow(target, zone);
  const led = ipv4.chain.findIndex(leadsHere);
  if (led >= 0) return { kind: 'here', evidence: { by: 'cname', zones: zonesOf(ipv4.chain.slice(0, led + 1)) } };
  // Addresses are the same for all hostnames.
  if (addresses.length > 0 && !unique) {
    const ipv6 = await resolver.resolve(row.hostname, 'AAAA', options);
    // What is proxied has the edge's address without leading anybody here.
    const found = [ipv4, ipv6].find((answer) => !answer.proxied && hasAddress(answer, addresses));
    if (found) return { kind: 'here', evidence: { by: 'address', zones: zonesOf([...found.chain, found]) } };
  }
  if (ipv4.status === 'servfail' || ipv4.status === 'timeout') return { kind: 'unsure', why: ipv4.status };
  return { kind: 'elsewhere', own: ipv4.source === 'own' };
}

/** The zones here that said one thing after another. */
function zonesOf(said: readonly { readonly zone?: number }[]): number[] {
  return [...new Set(said.flatMap(({ zone }) => zone ?? []))];
}

function isAtOrBelow(name: string, zone: string): boolean {
  return name === zone || name.endsWith(`.${zone}`);
}

function hasAddress({ records }: Resolution, addresses: readonly Uint8Array[]): boolean {
  return records.some(({ content }) => {
    const address = parseIP(content);
    return address !== undefined && addresses.some((own) => equalBytes(own, address));
  });
}

/** A token belongs to one hostname in one zone. The token of another hostname proves nothing. */
async function findToken(
  resolver: Resolver,
  fetchToken: TokenFetch,
  { row, zone: { account }, fresh }: Question,
): Promise<HostnameEvidence | undefined> {
  const texts = await resolver.resolve(txtTokenName(row.hostname), 'TXT', { bypassCache: fresh, account });
  if (texts.records.some(({ content }) => content === row.txt_token)) {
    return { by: 'txt', zones: zonesOf([...texts.chain, texts]) };
  }
  if (row.hostname.startsWith('*.')) return undefined;
  const text = await fetchToken(row.hostname, `${HTTP_TOKEN_PATH}${row.id}`, account);
  if (text !== row.http_token) return undefined;
  const asked = await resolver.resolve(row.hostname, 'A', { turnOf: account });
  return { by: 'http', zones: zonesOf([...asked.chain, asked]) };
}
