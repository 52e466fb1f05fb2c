/**
 * To which name servers a zone is delegated, asked at its parent (RFC 1034 §4.3.2).
 *
 * A resolver cannot be asked for the NS records of a zone that is not served yet: it would follow the delegation and
 * fail. So the resolver is only asked for the parent's servers, and those for the referral they hand out.
 */
import type { Clock } from '../base/clock.js';
import { createUpstream, type Upstream, type UpstreamAnswer } from './upstream.js';

export interface DelegationOptions {
  /** A recursive resolver. */
  readonly upstream: Upstream;
  readonly clock: Clock;
  /** Port of the parent's servers. */
  readonly port?: number;
}

/** Servers of the parent asked at most. */
const MOST_SERVERS = 3;
const TIMEOUT_MS = 2000;

/**
 * Makes the look-up: host names of the zone's name servers as its parent knows them, in lower case without final dot;
 * undefined when the parent has none, or when nobody who knows could be asked.
 */
export function createDelegationFinder({
  upstream,
  clock,
  port = 53,
}: DelegationOptions): (name: string) => Promise<readonly string[] | undefined> {
  async function addressesOf(server: string): Promise<string[]> {
    const answers = await Promise.all([upstream.query(server, 'A'), upstream.query(server, 'AAAA')]);
    return answers.flatMap(({ records }) =>
      records.filter(({ type }) => type !== 'CNAME').map(({ content }) => content),
    );
  }

  async function parentServers(name: string): Promise<readonly string[]> {
    const labels = name.split('.');
    for (let skip = 1; skip < labels.length; skip++) {
      const { status, records } = await upstream.query(labels.slice(skip).join('.'), 'NS');
      if (status === 'ok') return records.filter(({ type }) => type === 'NS').map(({ content }) => content);
      if (status === 'servfail' || status === 'timeout') return [];
    }
    return [];
  }

  return async (text) => {
    const name = text.toLowerCase().replace(/\.$/, '');
    for (const server of (await parentServers(name)).slice(0, MOST_SERVERS)) {
      const servers = (await addressesOf(server)).map((host) => ({ host, port }));
      const direct = createUpstream({ servers, clock, timeoutMs: TIMEOUT_MS });
      const answer = await direct.query(name, 'NS');
      if (answer.status === 'servfail' || answer.status === 'timeout') continue;
      return namesIn(answer, name);
    }
    return undefined;
  };
}

/** The referral; or, from a server that serves parent and child alike, the child's own NS records. */
function namesIn({ records, referral }: UpstreamAnswer, zone: string): readonly string[] | undefined {
  const found = [...records, ...referral].filter(({ name, type }) => type === 'NS' && name === zone);
  return found.length === 0 ? undefined : found.map(({ content }) => content);
}
