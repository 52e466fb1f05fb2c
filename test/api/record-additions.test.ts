/** `ptr` and `expires_on` of records over the API: what clients send and read, and who may set it. */
import t from 'tap';
import { install } from './installation.js';

const DNS_WRITE = '4755a26eedb94da69e1066d98aa820be';
const ENDS = '2024-05-06T00:00:00.000000Z';
const { call, createZone, token, misfits } = await install(t);

t.test('a PTR record is kept for an address', async (t) => {
  const [forward, reverse] = [await createZone('example.com'), await createZone('2.0.192.in-addr.arpa')];
  const records = `/zones/${forward}/dns_records`;
  const pointers = async () => (await call('GET', `/zones/${reverse}/dns_records?type=PTR`)).json.result;
  const ptr = true;
  const made = await call('POST', records, { type: 'A', name: 'www', content: '192.0.2.1', ptr });
  const { id, ptr: kept, settings, meta } = made.json.result;
  t.strictSame([made.status, kept, settings, meta.ptr], [200, true, {}, undefined]);
  const [pointer] = await pointers();
  t.match(pointer, { name: '1.2.0.192.in-addr.arpa', content: 'www.example.com', ptr: true });
  t.strictSame(pointer.meta.ptr, { status: 'kept', zone_id: forward, record_id: id });
  const shown = (await call('GET', `${records}/${id}`)).json.result;
  t.strictSame(shown.meta.ptr, { status: 'kept', zone_id: reverse, record_id: pointer.id });
  const back = await call('PUT', `${records}/${id}`, shown);
  t.strictSame([back.status, back.json.result.ptr], [200, true], 'what was read can be sent back');
  t.equal((await call('PUT', `/zones/${reverse}/dns_records/${pointer.id}`, pointer)).json.result.ptr, true);

  const proxied = await call('PATCH', `${records}/${id}`, { proxied: true });
  t.equal(proxied.status, 400);
  t.match(proxied.text, /ptr is not for proxied records/);
  t.equal((await call('PATCH', `${records}/${id}`, { ptr: 'yes' })).status, 400);
  t.match(
    (await call('POST', records, { type: 'MX', name: '@', content: 'a.test', priority: 1, ptr })).text,
    /ptr is for/,
  );

  const resources = { [`com.cloudflare.api.account.zone.${forward}`]: '*' };
  const policy = { effect: 'allow', permission_groups: [{ id: DNS_WRITE }], resources };
  const headers = await token({ policies: [policy] as never });
  const own = await call('POST', records, { type: 'A', name: 'own', content: '192.0.2.9', ptr }, { headers });
  t.equal(own.status, 403, 'who cannot edit the reverse zone begins nothing there');
  t.equal((await call('PATCH', `${records}/${id}`, { content: '192.0.2.7' }, { headers })).status, 200);
  t.strictSame(
    (await pointers()).map(({ name }: { name: string }) => name),
    ['7.2.0.192.in-addr.arpa'],
    'what was begun follows',
  );
  t.equal((await call('DELETE', `/zones/${reverse}/dns_records/${(await pointers())[0].id}`)).status, 200);
  t.equal((await call('GET', `${records}/${id}`)).json.result.ptr, undefined, 'taken over on the other side');
  const events = (await call('GET', '/user/audit_logs?per_page=50')).text;
  t.match(events, /7\.2\.0\.192\.in-addr\.arpa PTR/, 'the audit log names both records');
  t.strictSame(misfits, []);
});

t.test('a record says when it expires', async (t) => {
  const [zone, other] = [await createZone('ends.test'), await createZone('other.test')];
  const records = `/zones/${zone}/dns_records`;
  const body = { type: 'A', name: 'www', content: '192.0.2.1' };
  const made = await call('POST', records, { ...body, expires_on: '2024-05-06T02:00:00+02:00' });
  t.strictSame([made.status, made.json.result.expires_on], [200, ENDS]);
  const { id } = made.json.result;
  const one = async () => (await call('GET', `${records}/${id}`)).json.result;
  await call('POST', records, { ...body, name: 'stays' });
  const ending = (await call('GET', `${records}?expires_on.present`)).json.result;
  t.strictSame(
    ending.map((record: { id: string }) => record.id),
    [id],
    'a filter shows those that end',
  );
  const { expires_on, settings } = await one();
  t.strictSame([expires_on, settings], [ENDS, {}]);
  const back = await call('PUT', `${records}/${id}`, await one());
  t.strictSame([back.status, back.json.result.expires_on], [200, ENDS], 'what was read can be sent back');
  const past = await call('PATCH', `${records}/${id}`, { expires_on: '2024-05-05T00:00:00Z' });
  t.strictSame([past.status, past.json.errors[0].source], [400, { pointer: '/expires_on' }]);
  t.match(past.text, /expires_on must be in the future/);
  t.equal((await call('PATCH', `${records}/${id}`, { expires_on: 7 })).status, 400);
  t.equal((await call('PATCH', `${records}/${id}`, { settings: { expires_at: 1 } })).json.result.expires_on, ENDS);

  const resources = { [`com.cloudflare.api.account.zone.${other}`]: '*' };
  const policy = { effect: 'allow', permission_groups: [{ id: DNS_WRITE }], resources };
  const headers = await token({ policies: [policy] as never });
  const stranger = await call('PATCH', `${records}/${id}`, { expires_on: null }, { headers });
  t.not(stranger.status, 200);
  t.equal((await one()).expires_on, ENDS, 'who may not edit the record does not prolong it');
  t.equal((await call('PATCH', `${records}/${id}`, { expires_on: null })).json.result.expires_on, undefined);
  t.strictSame(misfits, []);
});
