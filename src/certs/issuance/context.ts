/** The context for issuing certificates. */
import type { ContextBase } from '../../control/kernel/context.js';
import type { Resolver } from '../../resolver/resolve.js';
import type { Vault } from '../../vault/vault.js';
import type { Authority, AuthorityName } from '../authority.js';
import type { FetchToken } from '../http-challenge.js';

export interface Authorities {
  /** Does not contact the authority. */
  of(name: AuthorityName): Promise<Authority>;
  /** Whether it sees our zones only from outside, shortly after they change. */
  isOutside(name: AuthorityName): boolean;
  close(): Promise<void>;
}

export interface CertificateContext extends ContextBase {
  readonly vault: Vault;
  /** Resolves CAA and TXT records. */
  readonly resolver: Resolver;
  /** Fetches the body at the URL of an HTTP token, as the authority would. */
  readonly fetchToken: FetchToken;
  readonly authorities: Authorities;
  /**
   * Whether everything that was stored before, for these zones (store numbers) and for HTTP challenges, is served by all DNS
   * and edge processes of all nodes; waits for that for a while.
   */
  readonly whenEverywhere: (zones: readonly number[]) => Promise<boolean>;
  /** The authorities to try when none is requested. */
  readonly defaultOrder: readonly AuthorityName[];
}
