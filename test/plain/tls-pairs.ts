/** Both ends of connections with TLS, without certificates. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, createServer, type TLSSocket } from 'node:tls';
import type { Test } from 'tap';

const KEYS = { ciphers: 'PSK', maxVersion: 'TLSv1.2' } as const;

/** Returns what opens one. */
export async function openTlsPairs(
  t: Test,
): Promise<() => Promise<{ readonly far: TLSSocket; readonly near: TLSSocket }>> {
  const key = Buffer.alloc(32, 'k');
  const server = createServer({ ...KEYS, pskCallback: () => key });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return async () => {
    const accepted = once(server, 'secureConnection') as Promise<[TLSSocket]>;
    const pskCallback = () => ({ psk: key, identity: 'test' });
    const far = connect({ ...KEYS, port, host: '127.0.0.1', pskCallback, checkServerIdentity: () => undefined });
    const [near] = await accepted;
    t.teardown(() => {
      far.destroy();
      near.destroy();
    });
    return { far, near };
  };
}
