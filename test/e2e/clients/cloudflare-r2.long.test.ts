/** The vendor's own client, unmodified, on buckets and objects. */
import Cloudflare from 'cloudflare';
import t from 'tap';
import { install } from '../../api/installation.js';
import { seededRandom } from '../../support/seeded-random.js';

t.test('buckets and objects', async (t) => {
  const installation = await install(t);
  await installation.app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = installation.app.server.address() as { port: number };
  const apiToken = (await installation.token()).authorization.slice('Bearer '.length);
  const client = new Cloudflare({ baseURL: `http://127.0.0.1:${port}/client/v4`, maxRetries: 0, apiToken });
  const account_id = (await installation.call('GET', '/accounts')).json.result[0].id as string;
  const { buckets } = client.r2;

  await t.test('buckets', async (t) => {
    const made = await buckets.create({ account_id, name: 'pictures', locationHint: 'weur' });
    t.match(made, { name: 'pictures', location: 'WEUR', storage_class: 'Standard', jurisdiction: 'default' });
    t.strictSame(await buckets.get('pictures', { account_id }), made);
    await buckets.create({ account_id, name: 'pictures', 'cf-r2-jurisdiction': 'eu' });
    await t.rejects(buckets.create({ account_id, name: 'pictures' }), {
      status: 409,
      errors: [{ code: 10004 }],
    });
    await t.rejects(buckets.create({ account_id, name: 'No Name' }), { status: 400, errors: [{ code: 10005 }] });
    await buckets.create({ account_id, name: 'archive', storageClass: 'InfrequentAccess' });
    t.match(await buckets.edit('archive', { account_id, storage_class: 'Standard' }), { storage_class: 'Standard' });
    const listed = await buckets.list({ account_id, name_contains: 'pic', order: 'name', direction: 'desc' });
    t.strictSame(listed.buckets, [made]);
    const page = await buckets.list({ account_id, per_page: 1, start_after: 'archive' });
    t.strictSame(page.buckets?.[0]?.name, 'pictures');
    t.strictSame(await buckets.delete('archive', { account_id }), {});
    await t.rejects(buckets.get('archive', { account_id }), { status: 404, errors: [{ code: 10006 }] });
  });

  await t.test('objects', async (t) => {
    const { objects } = buckets;
    const at = { account_id, bucket_name: 'pictures' };
    const content = Buffer.from(seededRandom(3).bytes(2 << 20));
    const key = 'ä/b c/100%.bin';
    const uploaded = await objects.upload(key, content, at);
    t.match(uploaded, { key, size: String(content.length), etag: /^[0-9a-f]{32}$/, storage_class: 'Standard' });
    const response = await objects.get(key, at);
    t.ok(Buffer.from(await response.arrayBuffer()).equals(content), 'octet for octet');
    t.match(Object.fromEntries(response.headers), {
      etag: `"${uploaded.etag}"`,
      'content-type': 'application/octet-stream',
      'content-length': String(content.length),
    });
    await t.rejects(objects.get(key, { ...at, 'If-None-Match': `"${uploaded.etag}"` }), {
      status: 304,
      message: /304/,
    });
    await t.rejects(objects.get('none', at), { status: 404, errors: [{ code: 10007 }] });
    await t.rejects(buckets.delete('pictures', { account_id }), { status: 409, errors: [{ code: 10008 }] });

    for (let i = 0; i < 7; i++) await objects.upload(`list/${i}`, 'x', { ...at, 'cf-r2-storage-class': 'Standard' });
    const keys: (string | undefined)[] = [];
    for await (const object of objects.list('pictures', { account_id, prefix: 'list/', per_page: 3 })) {
      keys.push(object.key);
    }
    t.strictSame(
      keys,
      [0, 1, 2, 3, 4, 5, 6].map((i) => `list/${i}`),
      'auto-paging comes to its end',
    );
    const [first] = (await objects.list('pictures', { account_id, start_after: 'list/6' })).result;
    t.match(first, { key, size: content.length, etag: uploaded.etag, custom_metadata: {}, ssec: false });
    const grouped = await objects.list('pictures', { account_id, delimiter: '/' });
    t.strictSame(grouped.result, []);

    const metrics = await buckets.metrics.list({ account_id });
    t.match(metrics.standard?.published, { objects: 8, payloadSize: content.length + 7 });
    for (const name of [key, ...keys]) {
      t.strictSame(await objects.delete(name!, at), { key: name });
    }
    t.strictSame(await buckets.delete('pictures', { account_id }), {});
  });

  await t.test('custom domains', async (t) => {
    const { custom, managed } = buckets.domains;
    const zoneId = await installation.createZone('shop.test');
    const domain = 'cdn.shop.test';
    await buckets.create({ account_id, name: 'public' });
    const at = { account_id, bucket_name: 'public' };
    t.strictSame(await custom.list('public', { account_id }), { domains: [] });
    const made = await custom.create('public', { account_id, domain, enabled: true, zoneId, minTLS: '1.2' });
    t.strictSame(made, { domain, enabled: true, minTLS: '1.2', zoneId });
    const shown = { ...made, zoneName: 'shop.test', status: { ownership: 'active', ssl: 'initializing' } };
    t.strictSame(await custom.get(domain, at), shown);
    t.strictSame(await custom.list('public', { account_id }), { domains: [shown] });
    const ciphers = ['ECDHE-ECDSA-AES128-GCM-SHA256'];
    const edited = await custom.update(domain, { ...at, enabled: false, minTLS: '1.3', ciphers });
    t.strictSame(edited, { domain, enabled: false, minTLS: '1.3', ciphers });
    const [record] = (await client.dns.records.list({ zone_id: zoneId })).result;
    t.match(record, { name: domain, proxied: true, meta: { read_only: true, r2_bucket: 'public' } });
    await t.rejects(client.dns.records.delete(record!.id, { zone_id: zoneId }), {
      status: 400,
      errors: [{ code: 81059 }],
    });
    await t.rejects(custom.create('public', { account_id, domain, enabled: true, zoneId }), {
      status: 409,
      errors: [{ code: 10061 }],
    });
    t.strictSame(await custom.delete(domain, at), { domain });
    await t.rejects(custom.get(domain, at), { status: 404, errors: [{ code: 10060 }] });
    t.match(await managed.list('public', { account_id }), { bucketId: /^[0-9a-f]{32}$/, enabled: false });
    t.match(await managed.update('public', { account_id, enabled: false }), { enabled: false });
    await t.rejects(managed.update('public', { account_id, enabled: true }), {
      status: 400,
      errors: [{ code: 10064 }],
    });
  });

  await t.test('what there is none of', async (t) => {
    await buckets.create({ account_id, name: 'plain' });
    t.match(await buckets.lifecycle.get('plain', { account_id }), { rules: [{ enabled: true }] });
    t.strictSame(await buckets.locks.get('plain', { account_id }), { rules: [] });
    t.strictSame(await buckets.sippy.get('plain', { account_id }), { enabled: false });
    await t.rejects(buckets.cors.get('plain', { account_id }), { status: 404, errors: [{ code: 10059 }] });
  });

  await t.test('rules', async (t) => {
    const cors = [{ allowed: { methods: ['GET' as const], origins: ['https://a.test'] }, maxAgeSeconds: 60 }];
    await buckets.cors.update('plain', { account_id, rules: cors });
    t.strictSame(await buckets.cors.get('plain', { account_id }), { rules: cors });
    await buckets.cors.delete('plain', { account_id });
    await t.rejects(buckets.cors.get('plain', { account_id }), { status: 404, errors: [{ code: 10059 }] });
    const age = { type: 'Age' as const, maxAge: 86_400 };
    const old = [
      { id: 'old', enabled: true, conditions: { prefix: 'a' }, deleteObjectsTransition: { condition: age } },
    ];
    await buckets.lifecycle.update('plain', { account_id, rules: old });
    t.strictSame(await buckets.lifecycle.get('plain', { account_id }), { rules: old });
    const locks = [{ id: 'l', enabled: true, prefix: 'p', condition: { type: 'Indefinite' as const } }];
    await buckets.locks.update('plain', { account_id, rules: locks });
    t.strictSame(await buckets.locks.get('plain', { account_id }), { rules: locks });
  });
  t.strictSame(installation.misfits, []);
});
