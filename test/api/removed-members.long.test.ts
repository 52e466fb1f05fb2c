/**
 * What is racing while a member is removed, demoted or suspended: nothing is written after that, and nothing that is asked after the
 * answer is answered. With a key, a token, a browser's session, and writes that were permitted before and come to their turn after it.
 */
import t, { type Test } from 'tap';
import { createAccount } from '../../src/control/access/accounts.js';
import { createKey } from '../../src/control/access/keys.js';
import { latestEvents } from '../support/rows.js';
import { install } from './installation.js';

const DNS = '069fe803647ed3609e93d041d5df6050';
const READ_ONLY = 'f2b20eaa1a5d4af42b53ac16238c99c7';
const ROUNDS = 4;
/** Of each credential in each round; three ways of ending: 1,080 requests. */
const BEFORE = 20;
const AFTER = 10;

async function world(t: Test) {
  const installation = await install(t, { rateLimit: 1_000_000 });
  const { operator, token, call } = installation;
  const { id: account } = await createAccount(operator, { name: 'Team', members: ['head@example.org'] });
  const head = await token({ email: 'head@example.org' });
  const zone = (await call('POST', '/zones', { name: 'race.test', account: { id: account } }, { headers: head })).json
    .result.id as string;
  const email = 'member@example.org';
  const bearer = await token({ email });
  const { secret } = await createKey(operator, { kind: 'key', name: 'key', email });
  const begun = await call('POST', '/user/sessions', {}, { headers: bearer });
  const cookie = String(begun.headers['set-cookie']).split(';')[0]!;
  const browser = { cookie, 'zoneplane-dashboard': '1', origin: 'http://localhost:80', host: 'localhost:80' };
  const credentials = [bearer, { 'x-auth-email': email, 'x-auth-key': secret }, { ...browser, anonymous: '' }];
  return { ...installation, account, head, zone, email, credentials };
}

t.test('nothing gets through', async (t) => {
  const { call, store, account, head, zone, email, credentials, operator } = await world(t);
  let names = 0;
  const write = (headers: Record<string, string>) => {
    names += 1;
    const record = { type: 'TXT', name: `r${names}`, content: '"x"' };
    return call('POST', `/zones/${zone}/dns_records`, record, { headers });
  };
  const suspend = (value: number) =>
    operator.store.write(() => store.prepare(`UPDATE users SET suspended = ${value} WHERE email = '${email}'`).run());
  const members = `/accounts/${account}/members`;
  const ends: Readonly<Record<string, (member: string) => Promise<unknown>>> = {
    removed: (id) => call('DELETE', `${members}/${id}`, undefined, { headers: head }),
    demoted: (id) => call('PUT', `${members}/${id}`, { roles: [{ id: READ_ONLY }] }, { headers: head }),
    suspended: () => suspend(1),
  };
  let [asked, written, refusedInTurn] = [0, 0, 0];
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [how, end] of Object.entries(ends)) {
      const made = await call('POST', members, { email, roles: [DNS], status: 'accepted' });
      const member = made.json.result.id as string;
      for (const headers of credentials) t.match(await write(headers), { status: 200 }, `${how}: before`);
      const racing = credentials.flatMap((headers) => Array.from({ length: BEFORE }, () => write(headers)));
      // So that some are permitted, and wait for their turn to write.
      await new Promise((resolve) => setImmediate(resolve));
      const ended = end(member);
      const later = credentials.flatMap((headers) => Array.from({ length: BEFORE }, () => write(headers)));
      await ended;
      const endSeq = latestEvents(store, 200).find(({ kind }) => /^member\.(remove|edit)$/.test(kind))?.seq;
      const after = await Promise.all(
        credentials.flatMap((headers) => Array.from({ length: AFTER }, () => write(headers))),
      );
      t.equal(after.filter(({ status }) => status === 200).length, 0, `${how}: after the answer`);
      const during = await Promise.all([...racing, ...later]);
      asked += after.length + during.length;
      const through = during.filter(({ status }) => status === 200).length;
      written += through;
      refusedInTurn += during.length - through;
      if (how !== 'suspended') {
        const beyond = latestEvents(store, 400).filter(({ kind, actor, seq }) => {
          return kind === 'record.create' && actor === email && seq > endSeq!;
        });
        t.equal(beyond.length, 0, `${how}: nothing was written after it`);
      }
      await suspend(0);
      if (how !== 'removed') await call('DELETE', `${members}/${member}`, undefined, { headers: head });
    }
  }
  t.ok(asked >= 1000, `${asked} requests, ${written} of them in time and ${refusedInTurn} refused`);
});
