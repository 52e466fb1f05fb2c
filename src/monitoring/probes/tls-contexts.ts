/** What probes with TLS trust. Reading a hundred roots takes long, so it is done once for all probes until the roots change. */
import { createSecureContext, type SecureContext } from 'node:tls';

export interface TlsContexts {
  context(): SecureContext;
}

/** Root certificates, PEM; `generation` grows when they change. */
export type Roots = () => { readonly pem: string[]; readonly generation: number };

export function createTlsContexts(roots: Roots): TlsContexts {
  let known: { readonly generation: number; readonly context: SecureContext } | undefined;
  return {
    context() {
      const { pem, generation } = roots();
      if (known?.generation !== generation) known = { generation, context: createSecureContext({ ca: pem }) };
      return known.context;
    },
  };
}
