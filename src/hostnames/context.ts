/** What use cases of custom hostnames are given beside the context all have. */
import type { CertificateContext } from '../certs/issuance/context.js';
import type { Context } from '../control/kernel/context.js';
import type { Resolver } from '../resolver/resolve.js';
import type { TokenFetch } from './token-fetch.js';

export interface HostnameServices {
  readonly resolver: Resolver;
  readonly fetchToken: TokenFetch;
  /** Certificates come from an authority that issues for names of the Internet only. */
  readonly publicNames: boolean;
  readonly certificates: CertificateContext;
}

export interface HostnameContext extends Context {
  readonly hostnames: HostnameServices;
}
