/** Access keys of a bucket and signed links over the admin API: what they hold, who may make them, and with which token. */
import t from 'tap';
import { install } from './installation.js';

const { call, token, misfits, clock } = await install(t);
const account = (await call('GET', '/accounts')).json.result[0].id as string;
const buckets = `/accounts/${account}/r2/buckets`;
for (const name of ['mine', 'other']) await call('POST', buckets, { name });
const linkBody = { key: 'a b/ü', expires: 600 };

t.test('keys and links', async (t) => {
  t.match(await call('POST', `${buckets}/mine/links`, linkBody), { status: 409, json: { errors: [{ code: 10066 }] } });
  const made = await call('POST', `${buckets}/mine/keys`, { read_only: true, expires_on: '2024-06-01T00:00:00Z' });
  const { access_key_id: id, ...key } = made.json.result;
  t.match(key, {
    secret_access_key: /^[0-9a-f]{64}$/,
    endpoint: 'http://127.0.0.1:8055',
    region: 'auto',
    bucket: 'mine',
    expires_on: /^2024-06-01T00:00:00/,
  });
  const link = (await call('POST', `${buckets}/mine/links`, linkBody)).json.result;
  t.match(link, {
    access_key_id: id,
    url: /^http:\/\/127\.0\.0\.1:8055\/mine\/a%20b\/%C3%BC\?X-Amz-.*&X-Amz-Expires=600&/,
  });
  t.equal((await call('POST', `${buckets}/mine/links`, { ...linkBody, method: 'PUT' })).status, 409, 'it reads only');
  t.equal((await call('POST', `${buckets}/other/links`, linkBody)).status, 409, 'and is for one bucket');
  t.equal((await call('POST', `${buckets}/none/links`, linkBody)).status, 404);
  for (const wrong of [
    { ...linkBody, expires: 0 },
    { ...linkBody, expires: 604_801 },
    { ...linkBody, key: '' },
    { expires: 1 },
    { ...linkBody, x: 1 },
  ]) {
    t.equal((await call('POST', `${buckets}/mine/links`, wrong)).status, 400, JSON.stringify(wrong));
  }
  t.equal((await call('POST', `${buckets}/mine/keys`, { expires_on: 'tomorrow' })).status, 400);
  clock.advance(40 * 86_400_000);
  t.equal((await call('POST', `${buckets}/mine/links`, linkBody)).status, 409, 'an expired token signs nothing');
});

t.test('who may make them', async (t) => {
  const { access_key_id: id } = (await call('POST', `${buckets}/mine/keys`, {})).json.result;
  const as = async (headers: Record<string, string>, path: string, body: object) =>
    (await call('POST', `${buckets}/mine/${path}`, body, { headers })).status;
  const stranger = await token({ email: 'stranger@example.net', accountId: account });
  const own = { ...linkBody, access_key_id: id };
  t.equal(await as(stranger, 'links', own), 409, 'never with the token of somebody else');
  const reader = await token({ readOnly: true });
  t.equal(await as(reader, 'links', linkBody), 200, 'who may read may let read');
  t.equal(await as(reader, 'links', { ...linkBody, method: 'PUT' }), 403);
  t.equal(await as(reader, 'keys', {}), 403);
  await call('DELETE', `/user/tokens/${id}`);
  t.equal((await call('POST', `${buckets}/mine/links`, own)).status, 409, 'a revoked token signs nothing');
  t.strictSame(misfits, []);
});
