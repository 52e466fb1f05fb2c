/** What issuing certificates needs. */
import type { ContextBase } from '../../control/write/context.js';
import type { Resolver } from '../../resolver/resolve.js';
import type { Vault } from '../../vault/vault.js';
import type { Authority, AuthorityName } from '../authority.js';
import type { FetchToken } from '../embedded/validation.js';

export interface Authorities {
  /** Contacts nobody by itself. */
  of(name: AuthorityName): Promise<Authority>;
  /** Whether it sees our zones only as the world does, a moment after they changed. */
  isOutside(name: AuthorityName): boolean;
  close(): Promise<void>;
}

export interface CertificateContext extends ContextBase {
  readonly vault: Vault;
  /** Asked for CAA and TXT records. */
  readonly resolver: Resolver;
  /** The body at the URL of an HTTP token, as the authority would fetch it. */
  readonly fetchToken: FetchToken;
  readonly authorities: Authorities;
  /** Those that are tried where none is asked for. */
  readonly defaultOrder: readonly AuthorityName[];
}
