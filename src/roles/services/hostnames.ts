/** What custom hostnames and their certificates need, made of settings. */
import type { Lifecycle } from '../../base/lifecycle.js';
import { createAuthorities } from '../../certs/authorities.js';
import type { ContextBase } from '../../control/write/context.js';
import type { HostnameServices } from '../../hostnames/context.js';
import { watchOwnChanges } from '../../hostnames/own-changes.js';
import { createTokenFetch } from '../../hostnames/token-fetch.js';
import type { Resolver } from '../../resolver/resolve.js';
import type { Vault } from '../../vault/vault.js';

export interface HostnameParts {
  readonly base: ContextBase;
  readonly resolver: Resolver;
  readonly vault: Vault;
  readonly lifecycle: Lifecycle;
  readonly version: string;
}

const CHALLENGE_PATH = '/.well-known/acme-challenge/';

/** Starts what watches zones of ours for names of customers, too. */
export function startHostnames({ base, resolver, vault, lifecycle, version }: HostnameParts): HostnameServices {
  const fetchToken = createTokenFetch({ resolver, clock: base.clock });
  const fetchChallenge = (host: string, token: string) => fetchToken(host, `${CHALLENGE_PATH}${token}`);
  const authorities = createAuthorities({
    ...base,
    vault,
    resolver,
    fetchToken: fetchChallenge,
    directories: new Map(),
    userAgent: `Zoneplane/${version}`,
  });
  lifecycle.own('certificate authorities', authorities, (part) => part.close());
  lifecycle.own('hostname watch', watchOwnChanges(base), (end) => end());
  return {
    resolver,
    fetchToken,
    publicNames: false,
    certificates: {
      ...base,
      vault,
      resolver,
      fetchToken: fetchChallenge,
      authorities,
      defaultOrder: ['google', 'lets_encrypt'],
    },
  };
}
