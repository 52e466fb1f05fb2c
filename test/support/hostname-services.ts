/**
 * Custom hostnames as in the program: the built-in authorities, a real vault, and no outside resolver unless a test
 * provides one.
 */

import { join } from 'node:path';
import { createAuthorities } from '../../src/certs/authorities.js';
import { createChallengeFetch } from '../../src/certs/http-challenge.js';
import type { ContextBase } from '../../src/control/kernel/context.js';
import type { HostnameServices } from '../../src/hostnames/context.js';
import { createTokenFetch } from '../../src/hostnames/token-fetch.js';
import { createResolver } from '../../src/resolver/resolve.js';
import { createUpstream, type UpstreamServer } from '../../src/resolver/upstream.js';
import { ALL_PURPOSES } from '../../src/store/sealed-columns.js';
import { fileKeys } from '../../src/vault/master-key.js';
import { unlockVault } from '../../src/vault/unlock.js';
import { anywhere, egressTo } from './egress.js';

export interface ServicesOptions {
  readonly directory: string;
  readonly servers?: readonly UpstreamServer[];
  readonly publicNames?: boolean;
  /** Port of customers' web servers, which are on loopback then. */
  readonly webPort?: number;
}

export async function hostnameServices(
  base: ContextBase,
  { directory, servers = [], publicNames = false, webPort }: ServicesOptions,
): Promise<HostnameServices> {
  const { store, clock, random, settings } = base;
  const keys = fileKeys(join(directory, 'master.key'));
  const vault = await unlockVault({ store, keys, random, purposes: ALL_PURPOSES });
  const resolver = createResolver({
    store,
    upstream: createUpstream({ servers, clock }),
    clock,
    random,
    serving: settings,
  });
  const local = webPort === undefined ? {} : { port: webPort };
  const egress = webPort === undefined ? egressTo(clock, []) : anywhere(clock);
  const fetchToken = createTokenFetch({ resolver, clock, egress, ...local });
  const { edgeAddresses } = settings;
  const fetchChallenge = createChallengeFetch({ store, resolver, edgeAddresses, fetch: fetchToken });
  const common = { ...base, vault, resolver, fetchToken: fetchChallenge };
  const authorities = createAuthorities({ ...common, directories: new Map(), userAgent: 'test' });
  return {
    resolver,
    fetchToken,
    publicNames,
    certificates: {
      ...common,
      authorities,
      defaultOrder: ['google', 'lets_encrypt'],
      whenEverywhere: async () => true,
    },
  };
}
