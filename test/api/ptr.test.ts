/** `ptr` of records over the API: what clients send and read, on both sides, and who may set it. */
import t from 'tap';
import { install } from './installation.js';

const DNS_WRITE = '4755a26eedb94da69e1066d98aa820be';

t.test('a PTR record is kept for an address', async (t) => {
  const { call, createZone, token, misfits } = await install(t);
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
