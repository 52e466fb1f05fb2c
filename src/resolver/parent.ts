/**
 * The servers of the zone above a name. Some things are known only there: the delegation of a zone that is not served
 * yet, and the DS records as its servers have them now, not as a cache remembers them.
 */
import type { Clock } from '../base/clock.js';
import type { Egress } from '../egress/egress.js';
import type { Upstream } from './upstream.js';

export interface ParentOptions {
  /** A recursive resolver. */
  readonly upstream: Upstream;
  readonly clock: Clock;
  /** Decides which servers are asked: whoever has a zone chooses the servers of its parent, if that is theirs, too. */
  readonly egress: Egress;
  /** Port of the parent's servers. */
  readonly port?: number;
}

/** A server of the parent, with all its addresses. */
export interface ParentServer {
  /** Host name, lower case, without the final dot. */
  readonly name: string;
  /** Asks this server alone. Its answer is `timeout` when the name has no address. */
  readonly upstream: Upstream;
}

const TIMEOUT_MS = 2000;

/**
 * Host names of the servers of the closest zone above a name; empty when there is no such zone. Undefined when the
 * resolver could not find it out.
 */
export async function parentServerNames(
  { upstream }: ParentOptions,
  name: string,
): Promise<readonly string[] | undefined> {
  const labels = name.split('.');
  for (let skip = 1; skip < labels.length; skip++) {
    const { status, records } = await upstream.query(labels.slice(skip).join('.'), 'NS');
    if (status === 'ok') return records.filter(({ type }) => type === 'NS').map(({ content }) => content);
    if (status === 'servfail' || status === 'timeout') return undefined;
  }
  return [];
}

/** Looks up the addresses of one of these servers. */
export async function openParentServer(
  { upstream, clock, egress, port = 53 }: ParentOptions,
  name: string,
): Promise<ParentServer> {
  const answers = await Promise.all([upstream.query(name, 'A'), upstream.query(name, 'AAAA')]);
  const addresses = answers.flatMap(({ records }) =>
    records.filter(({ type }) => type !== 'CNAME').map(({ content }) => content),
  );
  const allowed = addresses.filter((host) => egress.refusal('ds-queries', host, port) === undefined);
  const servers = allowed.map((host) => ({ host, port }));
  // Hardly any command asks one.
  const { createUpstream } = await import('./upstream.js');
  return { name, upstream: createUpstream({ servers, clock, timeoutMs: TIMEOUT_MS }) };
}

/** A zone's name as these functions take it. */
export function parentQueryName(text: string): string {
  return text.toLowerCase().replace(/\.$/, '');
}
