/** Addresses of resolvers that have host names, while the system’s look-up does not answer. */
import t from 'tap';
import { createServerAddresses } from '../../src/resolver/server-address.js';
import { TestClock } from '../support/test-clock.js';

const AWHILE_MS = 2000;

t.test('one look-up at a time, whoever asks, and what was found is kept', async (t) => {
  const clock = new TestClock();
  const asked: { readonly host: string; readonly settle: (address: string | undefined) => void }[] = [];
  const addresses = createServerAddresses(clock, (host) => {
    return new Promise((resolve, reject) => {
      const settle = (address: string | undefined): void =>
        address === undefined ? reject(new Error('ENOTFOUND')) : resolve(address);
      asked.push({ host, settle });
    });
  });
  const find = (host: string): Promise<string | undefined> => addresses.find(host, AWHILE_MS);
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  t.equal(await find('192.0.2.1'), '192.0.2.1');
  t.equal(await find('2001:DB8::1'), '2001:db8::1');
  t.same(asked, [], 'an address is not looked up');

  const many = Array.from({ length: 100 }, (_, i) => find(i % 2 === 0 ? 'a.test' : 'b.test'));
  await settled();
  t.same(
    asked.map(({ host }) => host),
    ['a.test'],
    'a hundred questions hold one thread',
  );
  clock.advance(AWHILE_MS);
  t.same(new Set(await Promise.all(many)), new Set([undefined]), 'nobody waits longer');
  asked[0]!.settle('192.0.2.1');
  await settled();
  asked[1]!.settle(undefined);
  await settled();
  t.equal(await find('a.test'), '192.0.2.1');
  t.equal(await find('b.test'), undefined, 'it is not looked up again at once');
  t.equal(asked.length, 2);

  clock.advance(60_000);
  t.equal(await find('a.test'), '192.0.2.1', 'the former address is used while it is looked up anew');
  await settled();
  t.equal(asked.length, 3);
  asked[2]!.settle('192.0.2.2');
  await settled();
  t.equal(await find('a.test'), '192.0.2.2');
});
