/** Whether the resolvers that are to be asked about the outside world answer. */
import type { Clock } from '../base/clock.js';
import { createUpstream, type UpstreamServer } from '../resolver/upstream.js';
import type { Finding } from './finding.js';

const TIMEOUT_MS = 2000;

/** Each is asked for a name that always exists. */
export async function examineResolvers(servers: readonly UpstreamServer[], clock: Clock): Promise<Finding[]> {
  const what = 'resolvers';
  if (servers.length === 0)
    return [{ what, verdict: 'ok', text: 'none is configured; the outside world is not asked' }];
  return Promise.all(
    servers.map(async (server): Promise<Finding> => {
      const { host, port } = server;
      const name = `${host.includes(':') ? `[${host}]` : host}:${port}`;
      const upstream = createUpstream({ servers: [server], clock, timeoutMs: TIMEOUT_MS, deadlineMs: TIMEOUT_MS });
      const { status, reason } = await upstream.query('arpa', 'NS');
      if (status === 'ok') return { what, verdict: 'ok', text: `${name} answers` };
      return {
        ...{ what, verdict: 'warn', kind: 'resolver-failing' },
        text: `${name} does not help: ${reason ?? status}`,
        remedy: 'Name resolvers that answer with ZONEPLANE_RESOLVER_UPSTREAMS, or none with an empty value.',
      };
    }),
  );
}
