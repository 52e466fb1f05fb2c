/**
 * The webhook protocol of ExternalDNS, as provider/webhook/webhook.go of its sources speaks it (commit 2bf1bf8a): the same requests in the
 * same order, with the same headers.
 */
import t from 'tap';
import { applyEndpoints } from '../../src/control/records/endpoints.js';
import { countTurns } from '../support/turns.js';
import { install } from './installation.js';

const TYPE = 'application/external.dns.webhook+json;version=1';

t.test('negotiation, records, adjustment and changes, as ExternalDNS asks', async (t) => {
  const { app, createZone, token, call } = await install(t);
  const zone = await createZone('example.com');
  const deeper = await createZone('k8s.example.com');
  await createZone('other.example');
  const bearer = (await token({ zoneIds: [zone, deeper] })).authorization!;
  const secret = bearer.replace(/^Bearer /, '');
  const authorization = `Basic ${Buffer.from(`external-dns:${secret}`).toString('base64')}`;
  const ask = async (method: 'GET' | 'POST', path: string, body?: unknown, headers: object = { authorization }) => {
    const response = await app.inject({
      method,
      url: `/client/v4/external_dns${path}`,
      headers: { ...headers, ...(body === undefined ? { accept: TYPE } : { 'content-type': TYPE }) },
      ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
    });
    const isOurs = response.headers['content-type'] === TYPE;
    return { status: response.statusCode, isOurs, text: response.body, json: isOurs ? response.json() : undefined };
  };
  t.strictSame(await ask('GET', ''), {
    status: 200,
    isOurs: true,
    text: '{"include":["example.com","k8s.example.com"]}',
    json: { include: ['example.com', 'k8s.example.com'] },
  });
  t.match(await ask('GET', '/'), { status: 200, isOurs: true });
  t.match(await ask('GET', '/healthz'), { status: 200, text: 'ok' });
  t.match(await ask('GET', '/records', undefined, {}), { status: 400 }, 'nobody without a token');
  t.match(await ask('GET', '/records', undefined, { authorization: 'Basic eDp5' }), { status: 400 });
  t.match(await ask('GET', '/records', undefined, { authorization: bearer }), { status: 200, json: [] });
  const elsewhere = await app.inject({ url: '/client/v4/zones', headers: { authorization } });
  t.equal(elsewhere.statusCode, 400, 'a password is a token here only');

  const wanted = [
    {
      dnsName: 'app.example.com',
      targets: ['192.0.2.1', '192.0.2.2'],
      recordType: 'A',
      recordTTL: 300,
      labels: { owner: 'x' },
    },
    { dnsName: 'a-app.example.com', targets: ['"heritage=external-dns,external-dns/owner=x"'], recordType: 'TXT' },
    { dnsName: 'www.k8s.example.com', targets: ['app.example.com'], recordType: 'CNAME' },
    { dnsName: '_sip._tcp.example.com', targets: ['10 20 5060 app.example.com'], recordType: 'SRV' },
    { dnsName: 'example.com', targets: ['10 mail.example.com'], recordType: 'MX' },
  ];
  const adjusted = await ask('POST', '/adjustendpoints', wanted);
  t.match(adjusted, { status: 200, isOurs: true });
  t.match(adjusted.json[0].providerSpecific, [{ name: 'webhook/proxied', value: 'false' }]);
  t.equal(adjusted.json.length, wanted.length);
  t.match(await ask('POST', '/adjustendpoints', []), { text: '[]' });
  for (const time of ['once', 'and again, since it was not confirmed']) {
    t.match(await ask('POST', '/records', { create: adjusted.json }), { status: 204, text: '' }, time);
  }
  const plain = (list: { dnsName: string; labels?: object }[]) =>
    list.map(({ labels: _, ...rest }) => rest).toSorted((a, b) => a.dnsName.localeCompare(b.dnsName));
  const listed = await ask('GET', '/records');
  t.strictSame(
    plain(listed.json).map((endpoint) => ({ providerSpecific: [], ...endpoint })),
    plain(adjusted.json),
    'what was made is listed as it was wanted',
  );
  const inZone = (await call('GET', `/zones/${deeper}/dns_records`)).json.result;
  t.match(inZone, [{ name: 'www.k8s.example.com', content: 'app.example.com' }], 'the deepest zone has it');

  const [app1] = adjusted.json;
  const moved = { ...app1, targets: ['192.0.2.2', '192.0.2.3'], recordTTL: 600 };
  const change = { updateOld: [app1], updateNew: [moved], delete: [adjusted.json[4]] };
  t.match(await ask('POST', '/records', change), { status: 204 });
  const after = (await ask('GET', '/records')).json as { dnsName: string; targets: string[]; recordTTL?: number }[];
  t.match(
    after.find(({ dnsName }) => dnsName === 'app.example.com'),
    { targets: ['192.0.2.2', '192.0.2.3'], recordTTL: 600 },
  );
  t.notOk(after.some(({ dnsName }) => dnsName === 'example.com'));
  for (const [bad, reason] of [
    [{ dnsName: 'x.other.example', targets: ['192.0.2.1'], recordType: 'A' }, /in no zone/],
    [
      { dnsName: 'x.example.com', targets: ['192.0.2.1'], recordType: 'A', setIdentifier: 'blue' },
      /has a set identifier/,
    ],
    [{ dnsName: 'x.example.com', targets: ['x'], recordType: 'NAPTR' }, /only A, AAAA/],
    [{ dnsName: 'x.example.com', targets: ['nonsense'], recordType: 'A' }, /./],
  ] as const) {
    const refused = await ask('POST', '/records', { create: [{ ...app1, dnsName: 'y.example.com' }, bad] });
    t.match(refused, { status: 400, text: reason });
  }
  t.notOk(
    ((await ask('GET', '/records')).json as { dnsName: string }[]).some(({ dnsName }) => dnsName === 'y.example.com'),
    'nothing is half-done in a zone',
  );
});

t.test('a token for reading lists, and changes nothing', async (t) => {
  const { app, createZone, token } = await install(t);
  const zone = await createZone('example.com');
  const { authorization } = await token({ zoneIds: [zone], readOnly: true });
  const ask = (method: 'GET' | 'POST', path: string, payload?: object) =>
    app.inject({
      method,
      url: `/client/v4/external_dns${path}`,
      headers: { authorization: authorization! },
      ...(payload && { payload }),
    });
  t.equal((await ask('GET', '/records')).statusCode, 200);
  const create = [{ dnsName: 'a.example.com', targets: ['192.0.2.1'], recordType: 'A' }];
  t.equal((await ask('POST', '/records', { create })).statusCode, 403);
});

t.test('others have their turns while very many names are looked up', async (t) => {
  const { createZone, operator } = await install(t);
  await createZone('example.com');
  const gone = Array.from({ length: 400 }, (_, i) => {
    return { dnsName: `n${i}.example.com`, targets: ['192.0.2.1'], recordType: 'A' };
  });
  t.ok((await countTurns(() => applyEndpoints(operator, { delete: gone }))) >= 15);
});
