/** The parts for custom hostnames and their certificates, made from settings. */

import type { Lifecycle } from '../../base/lifecycle.js';
import { createChallengeFetch } from '../../certs/http-challenge.js';
import type { Settings } from '../../config/schema.js';
import type { ContextBase } from '../../control/kernel/context.js';
import type { Propagation } from '../../control/kernel/propagation.js';
import type { HostnameServices } from '../../hostnames/context.js';
import { createTokenFetch } from '../../hostnames/token-fetch.js';
import type { Resolver } from '../../resolver/resolve.js';
import type { Vault } from '../../vault/vault.js';
import { createCertificates, directoriesOf } from './certificates.js';

export interface HostnameParts {
  readonly settings: Settings;
  readonly base: ContextBase;
  readonly resolver: Resolver;
  readonly vault: Vault;
  readonly lifecycle: Lifecycle;
  readonly version: string;
  readonly propagation: Propagation;
}

/**
 * Starts custom hostnames. Throws a UserError for unusable settings.
 */
export async function startHostnames(parts: HostnameParts): Promise<HostnameServices> {
  const { settings, base, resolver } = parts;
  const { store, clock } = base;
  const { edgeAddresses } = base.settings;
  const fetchToken = createTokenFetch({ resolver, clock, egress: base.egress });
  // Without an edge here, something else has its addresses.
  const own = settings.edge === 'off' ? [] : edgeAddresses;
  const fetchChallenge = createChallengeFetch({ store, resolver, edgeAddresses: own, fetch: fetchToken });
  const certificates = await createCertificates(settings, { ...parts, fetchToken: fetchChallenge });
  return { resolver, fetchToken, publicNames: arePublic(settings), certificates };
}

/** Whether certificates come from an authority that issues only for names on the public Internet. */
export function arePublic(settings: Settings): boolean {
  return [...directoriesOf(settings).values()].some(({ url }) => !isLocal(url));
}

/** An authority on this machine is not public. */
function isLocal(url: string): boolean {
  return ['127.0.0.1', '[::1]', 'localhost'].includes(new URL(url).hostname);
}
