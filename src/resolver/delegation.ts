/**
 * The name servers to which a zone is delegated, as its parent has them (RFC 1034 §4.3.2).
 *
 * A resolver cannot be asked for the NS records of a zone that is not served yet: it would follow the delegation and
 * fail. So the resolver is asked only for the servers of the parent, and these are asked for the referral.
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

/** The largest number of the parent's servers that are asked. */
const MOST_SERVERS = 3;
const TIMEOUT_MS = 2000;

/**
 * Creates the look-up. It returns the host names of the zone's name servers as the parent has them, in lower case
 * without the final dot; undefined when the parent has no delegation, or when no server of the parent answered.
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

/** The NS records of the referral, or the child's own NS records when the server serves both parent and child. */
function namesIn({ records, referral }: UpstreamAnswer, zone: string): readonly string[] | undefined {
  const found = [...records, ...referral].filter(({ name, type }) => type === 'NS' && name === zone);
  return found.length === 0 ? undefined : found.map(({ content }) => content);
}
