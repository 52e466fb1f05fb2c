/** Records of all zones, for who may read them. */
import t from 'tap';
import { createAccount } from '../../src/control/access/accounts.js';
import { install } from './installation.js';

const DNS_WRITE = '4755a26eedb94da69e1066d98aa820be';

t.test('records are found in every zone that the credential reads, and in no other', async (t) => {
  const { call, createZone, operator, token, misfits } = await install(t);
  const [mine, other] = [await createZone('mine.test'), await createZone('other.test')];
  const add = (zone: string, body: object, headers?: Record<string, string>) =>
    call('POST', `/zones/${zone}/dns_records`, { type: 'A', content: '192.0.2.10', ...body }, headers && { headers });
  await add(mine, { name: 'www', comment: 'The front door' });
  await add(mine, { name: 'mail', content: '192.0.2.25' });
  await add(other, { name: 'web', tags: ['team:front'] });
  await createAccount(operator, { name: 'Foreign', members: ['foreign@example.org'] });
  const foreign = await token({ email: 'foreign@example.org' });
  const { json } = await call('POST', '/zones', { name: 'foreign.test' }, { headers: foreign });
  await add(json.result.id, { name: 'secret' }, foreign);
  const search = async (query: string, headers?: Record<string, string>) => {
    const answer = await call('GET', `/search?${query}`, undefined, headers && { headers });
    const names = answer.json.result?.records.map(
      ({ zone, record }: { zone: { name: string }; record: { name: string } }) => `${zone.name} ${record.name}`,
    );
    return { ...answer, names, next: answer.json.result?.next };
  };
  t.same((await search('q=192.0.2.10', foreign)).names, ['foreign.test secret.foreign.test']);
  const user = await token({ zoneIds: [mine, other] });
  t.equal((await search('q=192.0.2.10')).names.length, 3, 'an administrator finds all');
  const own = ['mine.test www.mine.test', 'other.test web.other.test'];
  t.same((await search('q=192.0.2.10', user)).names, own);
  t.same((await search('q=FRONT', user)).names, own, 'comments and tags, in any case');
  t.same((await search('q=door%20www', user)).names, own.slice(0, 1), 'all words');
  t.same((await search('q=nothing-like-it', user)).names, []);
  const ofZone = await token({ zoneIds: [other] });
  t.same((await search('q=192.0.2', ofZone)).names, own.slice(1));
  const resources = { [`com.cloudflare.api.account.zone.${mine}`]: '*' };
  const policy = { effect: 'allow', permission_groups: [{ id: DNS_WRITE }], resources, records: { names: ['www.*'] } };
  const ofRecords = await token({ policies: [policy] as never });
  t.same((await search('q=192.0.2', ofRecords)).names, [], 'some records of a zone are not searched');
  // One after the other, each where the last one ended.
  const seen: string[] = [];
  for (let next: number | null = 0; next !== null; ) {
    const part = await search(`q=192.0.2.10&limit=1&after=${next}`, user);
    seen.push(...part.names);
    next = part.next;
  }
  t.same(seen, own);
  for (const query of ['', 'q=', 'q=%20', `q=${'x'.repeat(201)}`, 'q=a&limit=0', 'q=a&limit=501', 'q=a&after=x']) {
    t.equal((await search(query, user)).status, 400, query.slice(0, 20));
  }
  t.strictSame(misfits, []);
});
