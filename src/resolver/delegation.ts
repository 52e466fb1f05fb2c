/**
 * The name servers to which a zone is delegated, as its parent has them (RFC 1034 §4.3.2).
 *
 * A resolver cannot be asked for the NS records of a zone that is not served yet: it would follow the delegation and
 * fail. So the resolver is asked only for the servers of the parent, and these are asked for the referral.
 */
import { openParentServer, type ParentOptions, parentQueryName, parentServerNames } from './parent.js';
import type { UpstreamAnswer } from './upstream.js';

/** The largest number of the parent's servers that are asked. */
const MOST_SERVERS = 3;

/**
 * Creates the look-up. It returns the host names of the zone's name servers as the parent has them, in lower case
 * without the final dot; undefined when the parent has no delegation, or when no server of the parent answered.
 */
export function createDelegationFinder(
  options: ParentOptions,
): (name: string) => Promise<readonly string[] | undefined> {
  return async (text) => {
    const name = parentQueryName(text);
    for (const server of ((await parentServerNames(options, name)) ?? []).slice(0, MOST_SERVERS)) {
      const { upstream } = await openParentServer(options, server);
      const answer = await upstream.query(name, 'NS');
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
