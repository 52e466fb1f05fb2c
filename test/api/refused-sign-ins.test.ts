/** Credentials that are refused make events: few, whoever tries how often, and none with a secret. */
import t from 'tap';
import { latestEvents } from '../support/rows.js';
import { ANONYMOUS, install } from './installation.js';

t.test('strangers are told of once, and known credentials by name', async (t) => {
  const { call, token, store, clock } = await install(t, { trustedProxies: ['127.0.0.1/32'] });
  const refusals = async () => {
    // What was begun is written before.
    await store.write(() => undefined);
    return latestEvents(store, 100).filter(({ kind }) => kind === 'sign_in.refuse');
  };
  const guess = `Bearer ${'g'.repeat(40)}`;
  for (let i = 0; i < 30; i++) {
    t.equal((await call('GET', '/zones', undefined, { headers: { ...ANONYMOUS, authorization: guess } })).status, 403);
  }
  t.match(await refusals(), [
    {
      name: 'an unknown credential',
      actor: 'unknown',
      address: '127.0.0.1',
      account: null,
      after: '{"reason":"unknown"}',
    },
  ]);
  t.equal((await refusals()).length, 1);

  const headers = await token({ name: 'ci', networks: ['192.0.2.0/24'] });
  t.equal((await call('GET', '/zones', undefined, { headers })).status, 403);
  const [first] = await refusals();
  t.match(first, { name: 'ci', actor: 'admin@localhost', credential_name: 'ci' });
  t.match(JSON.parse(first!.after!), { reason: 'location', left_out_before: 29 });

  for (let i = 0; i < 60; i++) {
    const from = { 'x-forwarded-for': `198.51.100.${i}` };
    await call('GET', '/zones', undefined, { headers: { ...ANONYMOUS, authorization: guess, ...from } });
  }
  t.equal((await refusals()).length, 20, 'nor do many addresses fill the log');
  clock.advance(600_000);
  await call('GET', '/zones', undefined, { headers: { ...ANONYMOUS, authorization: guess } });
  t.equal((await refusals()).length, 21);
  t.match(JSON.parse((await refusals())[0]!.after!), { left_out_before: 42 });
  t.notMatch(JSON.stringify(await refusals()), /gggg/);
});
