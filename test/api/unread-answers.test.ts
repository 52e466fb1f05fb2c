/** Large answers whose clients do not read them: they take the memory of a few, and keep nobody else from being answered. */
import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { dirname } from 'node:path';
import t from 'tap';
import { createReaders, type Readers } from '../../src/api/reading/readers.js';
import { buildApi } from '../../src/api/server.js';
import { silentLogger } from '../../src/base/log.js';
import { createLocalStore } from '../../src/bucket/local-store.js';
import { createAccount } from '../../src/control/access/accounts.js';
import { createZone } from '../../src/control/zones/zones.js';
import { signInServices } from '../support/sign-in.js';
import { TestClock } from '../support/test-clock.js';
import { until } from '../support/until.js';
import { ADMIN_HEADERS, install } from './installation.js';

/** More than the system keeps for a client that does not read. */
const OCTETS = 16 << 20;

t.test('answers that nobody reads', async (t) => {
  const { base, hostnames, store, operator, token } = await install(t);
  const clock = new TestClock();
  const data = { dataDir: dirname(store.path), settings: base.settings, logLevel: 'silent' };
  const readers = createReaders(data, clock, silentLogger());
  let reads = 0;
  const large: Readers = {
    ...readers,
    async read() {
      reads++;
      return { status: 200, headers: {}, body: new Uint8Array(OCTETS) };
    },
  };
  const services = { base, hostnames, signIn: signInServices(base, hostnames), objects: createLocalStore(base) };
  const app = buildApi({
    ...{ ...services, readers: large, host: '127.0.0.1', version: '0.0.0-test' },
    readiness: () => ({ ready: true }),
    metrics: async () => '',
  });
  const sockets: Socket[] = [];
  t.after(async () => {
    for (const socket of sockets) socket.destroy();
    await app.close();
    await readers.close();
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const ask = (headers: Readonly<Record<string, string>>, zone = '0'.repeat(32)): Socket => {
    const socket = connect({ port, host: '127.0.0.1' }).on('error', () => {});
    sockets.push(socket);
    const lines = Object.entries({ host: 'h', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`GET /client/v4/zones/${zone}/dns_records?search=r HTTP/1.1\r\n${lines.join('')}\r\n`);
    return socket.pause();
  };
  const waiting = (): number =>
    readers.samples().find(({ name, labels }) => name === 'turns_waiting' && labels?.['kind'] === 'answers')!.value;

  const greedy = Array.from({ length: 20 }, () => ask(ADMIN_HEADERS));
  await until(() => reads + waiting() === 20);
  t.equal(reads, 8, 'so many of one account are made');
  const { id } = await createAccount(operator, { name: 'Other', members: [ADMIN_HEADERS['x-auth-email']] });
  const other = ask(await token({ accountId: id }));
  await until(() => reads === 9);
  t.equal(reads, 9, 'another account does not wait');
  other.resume();
  await once(other, 'data');
  greedy[0]!.destroy();
  await until(() => reads === 10);
  t.equal(reads, 10, 'one that has gone makes room');
  greedy[1]!.resume();
  await until(() => reads === 11);
  t.equal(reads, 11, 'and so does one that reads');

  const zone = await createZone(operator, { name: 'other.test', account: id });
  ask(ADMIN_HEADERS, zone.id);
  await until(() => reads === 12);
  t.equal(reads, 12, 'a zone is read in turns of its account, by a member of both, too');
});
